package linux_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
)

func TestAStraightPathLeadsThroughNoSymlink(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "etc/passwd"), "kept")
	must(t, os.MkdirAll(filepath.Join(dir, "tmp"), 0o777))
	must(t, os.Symlink("/etc", filepath.Join(dir, "tmp/a")))
	s := h.ActStraight()
	_, list := s.ReadDir("/tmp/a")
	_, look := s.Lstat("/tmp/a/passwd")
	_, open := h.LookStraight().Open("/tmp/a/passwd")
	_, write := s.WriteFile(t.Context(), "/tmp/a/passwd", mine("lost"))
	for what, err := range map[string]error{
		"to list": list, "to look": look, "to open": open, "to write": write,
		"to remove": s.Remove("/tmp/a/passwd"), "to remove all": s.RemoveAll("/tmp/a/passwd"),
	} {
		if !errors.Is(err, syscall.ELOOP) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if read(t, filepath.Join(dir, "etc/passwd")) != "kept" {
		t.Error("it was not kept")
	}
	if info, err := s.Lstat("/tmp/a"); err != nil || !info.IsSymlink() {
		t.Errorf("the symlink itself: %+v, %v", info, err)
	}
	must(t, s.Remove("/tmp/a"))
}

func TestTimesAreThoseOfThePathItself(t *testing.T) {
	h, dir := tempRoot(t)
	file := filepath.Join(dir, "f")
	put(t, file, "")
	must(t, os.Chtimes(file, time.Unix(100, 0), time.Unix(200, 0)))
	must(t, os.Symlink("f", filepath.Join(dir, "l")))
	got, err := h.Times("/f")
	must(t, err)
	if diff := cmp.Diff(host.Times{Access: time.Unix(100, 0), Modify: time.Unix(200, 0), Change: got.Change}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if link, err := h.Times("/l"); err != nil || time.Since(link.Modify) > time.Hour || time.Since(got.Change) > time.Hour {
		t.Errorf("%+v, %v; the file was changed %v", link, err, got.Change)
	}
	if _, err := h.Times("/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

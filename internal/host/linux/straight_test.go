package linux_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

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
		if link := new(host.LinkError); !errors.Is(err, syscall.ELOOP) && !errors.As(err, &link) {
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

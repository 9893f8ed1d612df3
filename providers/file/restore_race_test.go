package file_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
)

// The state saved for restoring is that of a single file. Otherwise a user could have their own
// content restored as a set-ID file of root, or receive root's content as a file of theirs.
func TestRestoreIsConsistentUnderConcurrentReplacement(t *testing.T) {
	h, dir := homeOfZed(t)
	home := filepath.Join(dir, "home/zed")
	plantFile(t, home+"/f", "root's", 0, 0o4755)
	plantFile(t, home+"/g", planted, zed, 0o644)
	r, err := bind(t, `{path: /home/zed/f, content: "new\n"}`)
	must(t, err)
	must(t, r.Choose(nil, h, ""))
	must(t, r.Read(t.Context(), resourcetest.Reader(h)))
	changes := r.Compare().Changes
	exchange := func() {
		must(t, unix.Renameat2(unix.AT_FDCWD, home+"/f", unix.AT_FDCWD, home+"/g", unix.RENAME_EXCHANGE))
	}
	exchange()
	if former, err := r.RestoreAttributes(t.Context(), resourcetest.Writer(h), changes); !errors.Is(err, host.ErrChanged) {
		t.Errorf("of two files it remembers %s: %v", former, err)
	}
	if saved, err := os.ReadDir(filepath.Join(dir, "var/lib/fettle/bucket")); err == nil {
		t.Errorf("the bucket has %v", saved)
	}
	exchange()
	must(t, r.Read(t.Context(), resourcetest.Reader(h)))
	if _, err := r.RestoreAttributes(t.Context(), resourcetest.Writer(h), r.Compare().Changes); err != nil {
		t.Error(err)
	}
}

// A user has root's file in a directory of the user's, and a file of their own in its place when it
// is restored.
func TestRestoredContentKeepsItsAccess(t *testing.T) {
	h, dir := homeOfZed(t)
	f := filepath.Join(dir, "home/zed/f")
	plantFile(t, f, "root's", 0, 0o600)
	r, err := bind(t, `{path: /home/zed/f, content: "new\n"}`)
	must(t, err)
	must(t, r.Choose(nil, h, ""))
	must(t, r.Read(t.Context(), resourcetest.Reader(h)))
	former, err := r.RestoreAttributes(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
	must(t, err)
	plantFile(t, f, "new\n", zed, 0o644)
	former["path"] = []byte(`"/home/zed/f"`)
	spec, err := json.Marshal(former)
	must(t, err)
	must(t, applyOnce(t, h, string(spec)))
	var st unix.Stat_t
	must(t, unix.Stat(f, &st))
	if text, err := os.ReadFile(f); err != nil || string(text) != "root's" || st.Uid != 0 || st.Gid != 0 || st.Mode&0o7777 != 0o600 {
		t.Errorf("%q belongs to %d:%d and has mode %04o: %v", text, st.Uid, st.Gid, st.Mode, err)
	}
}

// The owner's own symlinks are followed to save the former state, as they are to change the file.
func TestRestoreFollowsTheSameSymlinks(t *testing.T) {
	h, _ := linked(t)
	r, err := bind(t, `{path: /home/zed/dots/f, owner: zed, content: new}`)
	must(t, err)
	must(t, r.Choose(nil, h, ""))
	must(t, r.Read(t.Context(), resourcetest.Reader(h)))
	if _, err := r.RestoreAttributes(t.Context(), resourcetest.Writer(h), r.Compare().Changes); err != nil {
		t.Error(err)
	}
}

package linux_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/rival"
)

// edit opens a file for changes until the test ends.
func edit(t *testing.T, h host.Host, path string) host.WritableHandle {
	t.Helper()
	n, err := h.Edit(path, host.Links{})
	must(t, err)
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// editDir opens the directory of a path for changes.
func editDir(t *testing.T, h host.Host, path string) (host.WritableHandle, string) {
	t.Helper()
	n, name, err := h.EditParent(path, host.Links{})
	must(t, err)
	t.Cleanup(func() { _ = n.Close() })
	return n, name
}

func exchange(t *testing.T, dir, a, b string) {
	t.Helper()
	must(t, unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, a), unix.AT_FDCWD, filepath.Join(dir, b), unix.RENAME_EXCHANGE))
}

func TestHandleFollowsFile(t *testing.T) {
	debian.Require(t)
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "f"), "first")
	put(t, filepath.Join(dir, "g"), "second")
	n := edit(t, h, "/f")
	exchange(t, dir, "f", "g")

	must(t, n.Chown(7, 8))
	must(t, n.Chmod(0o4710))
	must(t, n.SetXattr("trusted.note", []byte("mine")))
	r, err := n.Open()
	must(t, err)
	defer r.Close()
	text, err := io.ReadAll(r)
	must(t, err)
	note, err := n.Xattr("trusted.note")
	must(t, err)
	is, err := n.Stat()
	must(t, err)
	if diff := cmp.Diff([]any{"first", "mine", 7, 8, uint32(0o4710)}, []any{string(text), string(note), is.UID, is.GID, is.Mode}); diff != "" {
		t.Errorf("the opened file (-want +got):\n%s", diff)
	}
	if f, err := h.Stat("/f"); err != nil || f.UID != 0 || f.Mode != 0o644 {
		t.Errorf("the file in its place is %+v, %v", f, err)
	}
}

func TestQueryHandleIsReadOnly(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "d/f"), "")
	d, err := h.Lookup("/d", host.Links{})
	must(t, err)
	defer d.Close()
	f, err := d.Child("f")
	must(t, err)
	defer f.Close()
	for _, n := range []host.Handle{d, f} {
		if _, is := n.(host.WritableHandle); is {
			t.Errorf("%s could be changed", n.Path())
		}
	}
}

func TestOnlyObservedFileIsReplacedOrRemoved(t *testing.T) {
	for sentence, change := range map[string]func(t *testing.T, dir string){
		"another file has the name": func(t *testing.T, dir string) { t.Helper(); exchange(t, dir, "f", "g") },
		"the content changed":       func(t *testing.T, dir string) { t.Helper(); put(t, filepath.Join(dir, "f"), "changed") },
		"the mode changed":          func(t *testing.T, dir string) { t.Helper(); must(t, os.Chmod(filepath.Join(dir, "f"), 0o600)) },
		"the file is gone":          func(t *testing.T, dir string) { t.Helper(); must(t, os.Remove(filepath.Join(dir, "f"))) },
		"a symlink has the name": func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Remove(filepath.Join(dir, "f")))
			must(t, os.Symlink("g", filepath.Join(dir, "f")))
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := tempRoot(t)
			put(t, filepath.Join(dir, "f"), "old")
			put(t, filepath.Join(dir, "g"), "other")
			d, name := editDir(t, h, "/f")
			was := edit(t, h, "/f").Info()
			waitForNextTick(t, dir)
			file := ownedFile("new")
			file.Was = &was
			file.Check = func(context.Context, string) error { change(t, dir); return nil }
			if _, err := d.WriteFile(t.Context(), name, file); !errors.Is(err, host.ErrChanged) {
				t.Errorf("changed during the write: %v", err)
			}
			file.Content = strings.NewReader("new")
			file.Check = nil
			if _, err := d.WriteFile(t.Context(), name, file); !errors.Is(err, host.ErrChanged) {
				t.Errorf("changed before the write: %v", err)
			}
			if err := d.Remove(name, &was); !errors.Is(err, host.ErrChanged) {
				t.Errorf("changed before the removal: %v", err)
			}
			if got := read(t, filepath.Join(dir, "g")); got == "new" {
				t.Error("the other file was written")
			}
			for _, left := range tree(t, dir) {
				if strings.HasPrefix(left, ".fettle-") {
					t.Errorf("%s is left", left)
				}
			}
		})
	}
}

// waitForNextTick waits until changes get a new timestamp: before Linux 6.13, timestamps have a granularity of some
// milliseconds.
func waitForNextTick(t *testing.T, dir string) {
	t.Helper()
	probe := filepath.Join(dir, "tick")
	put(t, probe, "")
	before, err := os.Stat(probe)
	must(t, err)
	eventually(t, "the clock of the file system goes on", func() bool {
		must(t, os.Chtimes(probe, before.ModTime(), before.ModTime()))
		var st unix.Stat_t
		must(t, unix.Stat(probe, &st))
		return st.Ctim.Nano() > before.ModTime().UnixNano()
	})
	must(t, os.Remove(probe))
}

func TestCreationDoesNotReplaceNewFile(t *testing.T) {
	h, dir := tempRoot(t)
	d, name := editDir(t, h, "/f")
	file := ownedFile("new")
	file.Was = new(host.FileInfo)
	file.Check = func(context.Context, string) error { put(t, filepath.Join(dir, "f"), "theirs"); return nil }
	if _, err := d.WriteFile(t.Context(), name, file); !errors.Is(err, host.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if got := read(t, filepath.Join(dir, "f")); got != "theirs" {
		t.Errorf("the file contains %q", got)
	}
}

func TestSetIDBitsSurviveSafeReplacementOnly(t *testing.T) {
	for sentence, test := range map[string]struct {
		path string
		uid  int // of the file
		link string
		file host.NewFile
		want uint32
	}{
		"kept in a directory that only root can write to":  {path: "/etc/f", file: host.NewFile{UID: -1, GID: -1}, want: 0o6755},
		"cleared with another owner":                       {path: "/etc/f", file: host.NewFile{UID: 5, GID: -1}, want: 0o755},
		"cleared with another group":                       {path: "/etc/f", file: host.NewFile{UID: -1, GID: 5}, want: 0o755},
		"cleared with two hard links":                      {path: "/etc/f", link: "/etc/g", file: host.NewFile{UID: -1, GID: -1}, want: 0o755},
		"cleared in a user's directory":                    {path: "/home/zed/f", uid: zed, file: host.NewFile{UID: -1, GID: -1}, want: 0o755},
		"cleared for root's file in a user's directory":    {path: "/home/zed/f", file: host.NewFile{UID: -1, GID: -1}, want: 0o755},
		"cleared in root's directory below a user's":       {path: "/home/zed/roots/f", file: host.NewFile{UID: -1, GID: -1}, want: 0o755},
		"cleared in a sticky directory":                    {path: "/tmp/f", file: host.NewFile{UID: -1, GID: -1}, want: 0o755},
		"cleared in a directory that a group can write to": {path: "/shared/f", file: host.NewFile{UID: -1, GID: -1}, want: 0o755},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, dir := homes(t)
			put(t, filepath.Join(dir, test.path), "")
			must(t, os.Chown(filepath.Join(dir, test.path), test.uid, 0))
			must(t, os.Chmod(filepath.Join(dir, test.path), 0o755|os.ModeSetuid|os.ModeSetgid))
			if test.link != "" {
				must(t, os.Link(filepath.Join(dir, test.path), filepath.Join(dir, test.link)))
			}
			_, err := h.WriteFile(t.Context(), test.path, test.file)
			must(t, err)
			if got, err := h.Stat(test.path); err != nil || got.Mode != test.want {
				t.Errorf("the mode is %04o, %v, want %04o", got.Mode, err, test.want)
			}
		})
	}
}

func TestHardLinksInOtherUsersDirectoriesAreNotChanged(t *testing.T) {
	for path, refused := range map[string]bool{
		"/etc/l": false, "/home/zed/l": true, "/tmp/l": true, "/open/l": true, "/shared/l": true, "/home/zed/roots/l": false,
	} {
		t.Run(path, func(t *testing.T) {
			h, dir := homes(t)
			put(t, filepath.Join(dir, "etc/shadow"), "secret")
			must(t, os.Link(filepath.Join(dir, "etc/shadow"), filepath.Join(dir, path)))
			n := edit(t, h, path)
			for what, err := range map[string]error{"chown": n.Chown(zed, -1), "chmod": n.Chmod(0o666), "setxattr": n.SetXattr("trusted.note", nil)} {
				if link := new(host.HardLinkError); errors.As(err, &link) != refused {
					t.Errorf("%s: %v", what, err)
				}
			}
			info, err := h.Stat("/etc/shadow")
			must(t, err)
			if changed := info.UID != 0 || info.Mode != 0o644; changed == refused {
				t.Errorf("afterwards the file is %+v", info)
			}
		})
	}
}

// A user can remove the opened link, so that the file seems to have only one.
func TestMovedFileIsNotChanged(t *testing.T) {
	h, dir := homes(t)
	put(t, filepath.Join(dir, "etc/shadow"), "secret")
	must(t, os.Link(filepath.Join(dir, "etc/shadow"), filepath.Join(dir, "home/zed/l")))
	n := edit(t, h, "/home/zed/l")
	must(t, os.Remove(filepath.Join(dir, "home/zed/l")))
	if err := n.Chown(zed, -1); !errors.Is(err, host.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if info, err := h.Stat("/etc/shadow"); err != nil || info.UID != 0 {
		t.Errorf("afterwards the file is %+v, %v", info, err)
	}
}

func TestHandleChangesCreatedFile(t *testing.T) {
	h, dir := homes(t)
	d, _ := editDir(t, h, "/home/zed/x")
	made, err := d.Mkdir("d", 0o3750)
	must(t, err)
	defer made.Close()
	link, err := d.Symlink("d", "l")
	must(t, err)
	defer link.Close()
	put(t, filepath.Join(dir, "home/zed/f"), "")
	exchange(t, dir, "home/zed/d", "home/zed/own")
	exchange(t, dir, "home/zed/l", "home/zed/f")
	must(t, made.Chown(7, 7))
	if err := link.Chown(7, 7); !errors.Is(err, host.ErrChanged) {
		t.Errorf("a symlink that was moved: %v", err)
	}
	for path, want := range map[string]host.FileInfo{
		"/home/zed/d": {UID: zed, Mode: 0o755}, "/home/zed/own": {UID: 7, Mode: 0o3750}, "/home/zed/l": {UID: 0, Mode: 0o644},
	} {
		if is, err := h.Lstat(path); err != nil || is.UID != want.UID || is.Mode != want.Mode {
			t.Errorf("%s is %+v, %v", path, is, err)
		}
	}
}

// Another process takes the lease: the kernel does not delay the holder's own opens.
func TestLeasedFileTimesOutQuickly(t *testing.T) {
	debian.Require(t)
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "f"), "content")
	must(t, os.Chown(filepath.Join(dir, "f"), zed, zed))
	rival.Start(t, dir, zed, "lease", "/f")
	n, err := h.Lookup("/f", host.Links{})
	must(t, err)
	defer n.Close()
	// The kernel keeps the lease for 45 seconds, and each open alone would take five.
	for range 12 { // a user can have leases on any number of files
		if _, err := n.Open(); err == nil || !strings.Contains(err.Error(), "another process holds a lease on it") {
			t.Fatalf("got %v", err)
		}
	}
}

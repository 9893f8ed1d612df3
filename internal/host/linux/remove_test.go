package linux_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/rival"
)

// deepVar names the root in which a child process of this test removes a deep tree.
const deepVar = "FETTLE_TEST_DEEP"

// The limit on descriptors applies to a whole process, so a child process removes the tree.
func TestDeepTreeIsRemovedWithFewDescriptors(t *testing.T) {
	if dir := os.Getenv(deepVar); dir != "" {
		const descriptors = 128
		must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: descriptors, Max: descriptors}))
		must(t, open(t, linux.Options{Root: dir}).RemoveAll("/top"))
		return
	}
	const levels = 3_000
	dir := t.TempDir()
	t.Cleanup(func() { _ = exec.Command("rm", "-rf", filepath.Join(dir, "top")).Run() }) //nolint:noctx // cleans up
	put(t, filepath.Join(dir, "top/file"), "")
	nest(t, filepath.Join(dir, "top"), levels)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	child.Env = append(os.Environ(), deepVar+"="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Lstat(filepath.Join(dir, "top")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tree still exists: %v", err)
	}
}

// nest creates nested directories, each with an additional empty directory.
func nest(t *testing.T, dir string, levels int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	must(t, err)
	for range levels {
		must(t, unix.Mkdirat(fd, "beside", 0o755))
		must(t, unix.Mkdirat(fd, "d", 0o755))
		next, err := unix.Openat(fd, "d", unix.O_PATH|unix.O_DIRECTORY, 0)
		must(t, err)
		must(t, unix.Close(fd))
		fd = next
	}
	must(t, unix.Close(fd))
}

// A tree with more directories than maxRepeats is removed, because each is listed once.
func TestWideTreeIsRemoved(t *testing.T) {
	h, dir := tempRoot(t)
	const directories = 17_000
	for i := range directories {
		put(t, filepath.Join(dir, "top", strconv.Itoa(i%200), strconv.Itoa(i), "file"), "")
	}
	must(t, h.RemoveAll("/top"))
	if _, err := os.Lstat(filepath.Join(dir, "top")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tree still exists: %v", err)
	}
}

// What stops a removal is found before anything is removed, also by asking for it.
func TestRemovalIsAllOrNothing(t *testing.T) {
	debian.Require(t, "chattr")
	h, dir := tempRoot(t)
	mount := func(name string) {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		must(t, unix.Mount("tmpfs", filepath.Join(dir, name), "tmpfs", 0, ""))
		t.Cleanup(func() { must(t, unix.Unmount(filepath.Join(dir, name), 0)) })
	}
	protect := func(attribute, name string) {
		must(t, exec.CommandContext(t.Context(), "chattr", attribute, filepath.Join(dir, name)).Run())
	}
	mount("disk") // where attributes of files end with the mount
	for top, c := range map[string]struct {
		given func()
		want  string
	}{
		"mounted": {
			func() { mount("disk/mounted/y/mount") },
			"cannot remove y/mount in it: mount is a mount point: unmount it first: device or resource busy",
		},
		"immutable": {
			func() { put(t, filepath.Join(dir, "disk/immutable/y/f"), ""); protect("+i", "disk/immutable/y/f") },
			"cannot remove y/f in it: it is immutable: change that with chattr -i: operation not permitted",
		},
		"appended": {
			func() { put(t, filepath.Join(dir, "disk/appended/y/f"), ""); protect("+a", "disk/appended/y") },
			"cannot remove y in it: it is append-only: change that with chattr -a: operation not permitted",
		},
	} {
		t.Run(top, func(t *testing.T) {
			first := filepath.Join(dir, "disk", top, "a")
			put(t, first, "kept")
			c.given()
			file, err := h.Lookup("/disk/"+top, host.Links{})
			must(t, err)
			defer file.Close()
			for what, err := range map[string]error{"a removal": h.RemoveAll("/disk/" + top), "asking": file.RemovalRefusal(func(int) error { return nil })} {
				if want := "remove /disk/" + top + ": " + c.want; err == nil || err.Error() != want {
					t.Errorf("%s: got  %v\nwant %s", what, err, want)
				}
			}
			if read(t, first) != "kept" {
				t.Error("a file was removed")
			}
		})
	}
	t.Run("in a directory that stays as it is", func(t *testing.T) {
		put(t, filepath.Join(dir, "disk/fixed/x/f"), "kept")
		protect("+i", "disk/fixed")
		const want = "remove /disk/fixed/x: its directory is immutable: change that with chattr -i: operation not permitted"
		if err := h.RemoveAll("/disk/fixed/x"); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if read(t, filepath.Join(dir, "disk/fixed/x/f")) != "kept" {
			t.Error("a file was removed")
		}
	})
}

func TestProtectionExplainsWhyRootCannotRemoveAFile(t *testing.T) {
	debian.Require(t, "chattr")
	h, dir := tempRoot(t)
	for name, kind := range map[string]string{"disk": "tmpfs", "full": "tmpfs", "proc": "proc"} {
		at := filepath.Join(dir, name)
		must(t, os.Mkdir(at, 0o755))
		must(t, unix.Mount(kind, at, kind, 0, ""))
		t.Cleanup(func() { must(t, unix.Unmount(at, 0)) })
	}
	for name, attribute := range map[string]string{"plain": "-i", "fixed": "+i", "log": "+a"} {
		must(t, os.Mkdir(filepath.Join(dir, "disk", name), 0o755))
		must(t, exec.CommandContext(t.Context(), "chattr", attribute, filepath.Join(dir, "disk", name)).Run())
	}
	must(t, unix.Mount("", filepath.Join(dir, "full"), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	for path, want := range map[string]string{
		"/disk/plain": "",
		"/disk/fixed": "is immutable: change that with chattr -i",
		"/disk/log":   "is append-only: change that with chattr -a",
		"/full":       "is on a read-only file system: mount that read-write",
		"/proc/sys":   "",
	} {
		file, err := h.Lookup(path, host.Links{})
		must(t, err)
		got, err := file.Protection()
		must(t, err)
		kernels, err := file.OnKernelFS()
		must(t, errors.Join(err, file.Close()))
		if got != want || kernels != (path == "/proc/sys") {
			t.Errorf("%s: got %q, want %q; of the kernel: %v", path, got, want, kernels)
		}
	}
}

// A user repeatedly exchanges a directory with a symlink to root's directory while its parent is removed.
func TestRemovalStaysInTree(t *testing.T) {
	debian.Require(t)
	h, dir := tempRoot(t)
	const uid, attempts = 4711, 1000
	put(t, filepath.Join(dir, "root/d/file"), "kept")
	home := filepath.Join(dir, "home")
	must(t, os.Mkdir(home, 0o755))
	must(t, os.Chown(home, uid, uid))
	lay := func() {
		must(t, os.Symlink("../root", filepath.Join(home, "link")))
		for _, d := range []string{"new", "new/x", "new/x/d"} {
			must(t, os.Mkdir(filepath.Join(home, d), 0o755))
			must(t, os.Chown(filepath.Join(home, d), uid, uid))
		}
		put(t, filepath.Join(home, "new/x/d/file"), "lost")
		must(t, os.Rename(filepath.Join(home, "new"), filepath.Join(home, "top")))
	}
	lay()
	rival.Start(t, dir, uid, "exchange", "/home/link", "/home/top/x")
	for range attempts {
		must(t, h.RemoveAll("/home/top"))
		must(t, h.RemoveAll("/home/link"))
		lay()
	}
	if read(t, filepath.Join(dir, "root/d/file")) != "kept" {
		t.Error("root's file was removed")
	}
}

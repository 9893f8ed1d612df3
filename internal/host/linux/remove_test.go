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

func TestRemovalReportsFailures(t *testing.T) {
	debian.Require(t)
	h, dir := tempRoot(t)
	must(t, os.MkdirAll(filepath.Join(dir, "x/y/mount"), 0o755))
	must(t, unix.Mount("tmpfs", filepath.Join(dir, "x/y/mount"), "tmpfs", 0, ""))
	t.Cleanup(func() { must(t, unix.Unmount(filepath.Join(dir, "x/y/mount"), 0)) })
	err := h.RemoveAll("/x")
	want := "remove /x: cannot remove y/mount in it: mount is a mount point: unmount it first: device or resource busy"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
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

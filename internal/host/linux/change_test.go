package linux_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestMkdirSymlinkChmodChown(t *testing.T) {
	h, dir := tempRoot(t)
	must(t, h.Mkdir("/d", 0o3777))
	if info, err := h.Lstat("/d"); err != nil || info.Mode != 0o3777 {
		t.Errorf("directory is %+v, %v", info, err)
	}
	if err := h.Mkdir("/d", 0o755); !errors.Is(err, os.ErrExist) {
		t.Errorf("Mkdir of an existing directory: %v", err)
	}
	if err := h.Mkdir("/no/d", 0o755); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Mkdir without a parent: %v", err)
	}

	put(t, filepath.Join(dir, "f"), "")
	must(t, h.Symlink("/d", "/f"))
	must(t, h.Symlink("/f", "/d/l"))
	if err := h.Symlink("/f", "/d"); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("Symlink over a directory: %v", err)
	}
	if err := chmod(h, "/f", 0o600); !errors.Is(err, syscall.EOPNOTSUPP) {
		t.Errorf("Chmod of a symlink: %v", err)
	}
	must(t, chmod(h, "/d", 0o700))
	must(t, chown(h, "/f", os.Geteuid(), -1))
	if info, err := h.Stat("/f"); err != nil || info.Mode != 0o700 {
		t.Errorf("directory is %+v, %v", info, err)
	}
	if diff := cmp.Diff([]string{"d", "d/l", "f"}, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestChownChangesSymlinkItself(t *testing.T) {
	debian.Require(t)
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "f"), "")
	must(t, os.Symlink("f", filepath.Join(dir, "l")))
	must(t, chown(h, "/l", 3, -1))
	must(t, chown(h, "/f", -1, 4))
	link, err := h.Lstat("/l")
	must(t, err)
	file, err := h.Lstat("/f")
	must(t, err)
	if diff := cmp.Diff([]int{3, 0, 0, 4}, []int{link.UID, link.GID, file.UID, file.GID}); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

func TestRemove(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "full/f"), "")
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	must(t, os.Symlink("full", filepath.Join(dir, "link")))

	for _, path := range []string{"/link/", "/empty", "/nothing", "/no/thing", "/full/f/g"} {
		must(t, h.Remove(path))
	}
	if err := h.Remove("/full"); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("Remove of a full directory: %v", err)
	}
	if err := h.RemoveAll("/"); err == nil {
		t.Error("the root was removed")
	}
	if diff := cmp.Diff([]string{"full", "full/f"}, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestRemoveAllDoesNotFollowSymlinks(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "precious/f"), "")
	put(t, filepath.Join(dir, "d/sub/deep/f"), "")
	must(t, os.Symlink("../precious", filepath.Join(dir, "d/link")))
	must(t, os.Symlink("/precious", filepath.Join(dir, "d/sub/link")))
	must(t, os.Symlink("precious", filepath.Join(dir, "top")))

	for _, path := range []string{"/d", "/top/", "/nothing", "/no/thing"} {
		must(t, h.RemoveAll(path))
	}
	if diff := cmp.Diff([]string{"precious", "precious/f"}, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

// The kernel protects a mount point only within its own namespace.
func TestMountPointIsNeitherRemovedNorReplaced(t *testing.T) {
	h := open(t, linux.Options{PID: startInOtherNamespaces(t)})
	must(t, h.Mkdir("/run/top", 0o755))
	must(t, h.Mkdir("/run/top/mnt", 0o755))
	for _, file := range []string{"/run/top/bound", "/run/source"} {
		_, err := h.WriteFile(t.Context(), file, ownedFile("kept"))
		must(t, err)
	}
	mount(t, h, "-t", "tmpfs", "tmpfs", "/run/top/mnt")
	mount(t, h, "--bind", "/run/source", "/run/top/bound")
	_, err := h.WriteFile(t.Context(), "/run/top/mnt/precious", ownedFile("kept"))
	must(t, err)

	_, err = h.WriteFile(t.Context(), "/run/top/bound", ownedFile("lost"))
	tests := map[string]error{
		"RemoveAll above it":     h.RemoveAll("/run/top"),
		"RemoveAll of it":        h.RemoveAll("/run/top/mnt"),
		"Remove of it":           h.Remove("/run/top/mnt"),
		"Symlink over it":        h.Symlink("/etc", "/run/top/bound"),
		"WriteFile over it":      err,
		"Remove of a bound file": h.Remove("/run/top/bound"),
	}
	for name, err := range tests {
		if !errors.Is(err, syscall.EBUSY) {
			t.Errorf("%s: %v, want EBUSY", name, err)
		}
	}
	for path, want := range map[string]bool{
		"/run/top/mnt": true, "/run/top/bound": true, "/": true, "/run/top": false, "/run/source": false, "/run/top/mnt/precious": false,
		"/run/nothing": false, "/run/source/nothing": false,
	} {
		if is, err := h.Mounted(path); is != want || err != nil {
			t.Errorf("Mounted(%s) = %t, %v", path, is, err)
		}
	}
	if names, err := h.ReadDir("/run/top/mnt"); err != nil || !slices.Equal(names, []string{"precious"}) {
		t.Errorf("the mounted file system contains %q, %v", names, err)
	}
	if names, err := h.ReadDir("/run/top"); err != nil || !slices.Equal(names, []string{"bound", "mnt"}) {
		t.Errorf("the parent directory contains %q, %v", names, err)
	}
}

func mount(t *testing.T, h host.Host, args ...string) {
	t.Helper()
	res, err := h.Run(t.Context(), host.Cmd{Args: append([]string{"mount"}, args...)})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("mount: %+v, %v", res, err)
	}
}

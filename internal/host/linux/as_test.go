package linux_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

var ann = host.Credentials{UID: 1234, GID: 2345, Groups: []uint32{2345, 3456}}

func TestImpersonationAppliesUserPermissions(t *testing.T) {
	debian.Require(t)
	h, dir := tempRoot(t)
	must(t, os.Chmod(dir, 0o755))
	put(t, filepath.Join(dir, "etc/shadow"), "secret")
	must(t, os.Chmod(filepath.Join(dir, "etc/shadow"), 0o600))
	put(t, filepath.Join(dir, "group/shared"), "of the group")
	must(t, os.Chown(filepath.Join(dir, "group/shared"), 0, 3456))
	must(t, os.Chmod(filepath.Join(dir, "group/shared"), 0o640))
	must(t, os.MkdirAll(filepath.Join(dir, "home/ann"), 0o755))
	must(t, os.Chown(filepath.Join(dir, "home/ann"), 1234, 2345))
	must(t, os.Symlink("/etc/shadow", filepath.Join(dir, "home/ann/file")))
	must(t, os.Symlink("/etc", filepath.Join(dir, "home/ann/dir")))

	put(t, filepath.Join(dir, "lit"), "secret")
	must(t, os.Chmod(filepath.Join(dir, "lit"), 0o600))

	user := h.ActAs(ann)
	_, read := user.ReadFile("/home/ann/file")
	_, open := user.Open("/home/ann/file")
	_, write := user.WriteFile(t.Context(), "/home/ann/dir/cron", ownedFile("x"))
	for what, err := range map[string]error{
		"reads": read, "opens": open, "opens after Lookup": openLooked(user, "/lit"), "writes": write,
		"creates a directory": user.Mkdir("/home/ann/dir/d", 0o755),
		"creates a symlink":   user.Symlink("x", "/home/ann/dir/l"),
		"removes a file":      user.Remove("/home/ann/dir/shadow"),
		"removes a tree":      user.RemoveAll("/home/ann/dir/shadow"),
		"changes the owner":   chown(user, "/home/ann", 0, 0),
		"changes the mode":    chmod(user, "/home/ann/dir/shadow", 0o666),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got, err := h.LookAs(ann).ReadFile("/group/shared"); err != nil || string(got) != "of the group" {
		t.Errorf("a file of a supplementary group: %q, %v", got, err)
	}
	if got, err := h.ReadFile("/etc/shadow"); err != nil || string(got) != "secret" {
		t.Errorf("root then reads %q, %v", got, err)
	}
}

// openLooked opens a file through a handle from Lookup, which itself needs no read permission.
func openLooked(h host.Reader, path string) error {
	n, err := h.Lookup(path, host.Links{})
	if err != nil {
		return err
	}
	_, err = n.Open()
	return errors.Join(err, n.Close())
}

func TestImpersonatedUserOwnsCreatedFiles(t *testing.T) {
	debian.Require(t)
	h, dir := tempRoot(t)
	must(t, os.Chmod(dir, 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "home/ann"), 0o755))
	must(t, os.Chown(filepath.Join(dir, "home/ann"), 1234, 2345))
	put(t, filepath.Join(dir, "home/ann/roots"), "")

	user := h.ActAs(ann)
	must(t, user.Mkdir("/home/ann/d", 0o755))
	must(t, chmod(user, "/home/ann/d", 0o700))
	must(t, user.Symlink("d", "/home/ann/l"))
	for _, path := range []string{"/home/ann/d/new", "/home/ann/roots"} {
		_, err := user.WriteFile(t.Context(), path, host.NewFile{Content: strings.NewReader("x"), UID: -1, GID: -1, Mode: new(uint32(0o600))})
		must(t, err)
	}
	for path, mode := range map[string]uint32{"/home/ann/d": 0o700, "/home/ann/d/new": 0o600, "/home/ann/l": 0o777, "/home/ann/roots": 0o600} {
		info, err := h.LookAs(ann).Lstat(path)
		must(t, err)
		if diff := cmp.Diff([]int{1234, 2345, int(mode)}, []int{info.UID, info.GID, int(info.Mode)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestImpersonatedCommandRunsAsUser(t *testing.T) {
	debian.Require(t)
	h := open(t, linux.Options{})
	res, err := h.LookAs(ann).Query(t.Context(), host.Cmd{Args: []string{"/bin/sh", "-c", "id -u; id -G"}})
	must(t, err)
	if got := string(res.Stdout); got != "1234\n2345 3456\n" {
		t.Errorf("it is %q", got)
	}
}

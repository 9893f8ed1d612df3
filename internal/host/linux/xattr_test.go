package linux_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/mounts"
)

// onTmpfs runs a test with a directory on a file system that supports all extended attributes, on a thread with its own
// mount namespace.
func onTmpfs(t *testing.T, test func(h *linux.Host, dir string)) {
	t.Helper()
	dir := t.TempDir()
	mounts.Own(t, func() {
		must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"))
		h, err := linux.Open(linux.Options{Root: dir})
		must(t, err)
		defer func() { must(t, h.Close()) }()
		test(h, dir)
	})
}

// acl returns an access list that grants a user everything that the mask allows.
func acl(owner, user, group, mask, other uint16) []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, owner, 1<<32 - 1}, {2, user, 1234}, {4, group, 1<<32 - 1}, {16, mask, 1<<32 - 1}, {32, other, 1<<32 - 1}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return list
}

const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
	takenMark   = "trusted.fettle.taken"
)

// attributes returns the extended attributes of a file by name. For an access list it returns only whether it exists.
func attributes(t *testing.T, file string) map[string]string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(file, buf)
	if err != nil {
		t.Error(err)
		return nil
	}
	all := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimRight(string(buf[:n]), "\x00"), "\x00") {
		value := make([]byte, 4096)
		n, err := unix.Lgetxattr(file, name, value)
		if err != nil && name != "" {
			t.Error(err)
		}
		if name != "" {
			all[name] = string(value[:max(n, 0)])
		}
	}
	return all
}

func TestReplacementKeepsExtendedAttributes(t *testing.T) {
	onTmpfs(t, func(h *linux.Host, dir string) {
		file := filepath.Join(dir, "f")
		list := string(acl(6, 4, 4, 4, 0))
		capability := "\x01\x00\x00\x02\x02\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		kept := map[string]string{
			"user.note": "mine", "user.empty": "", "trusted.note": "root's", "security.selinux": "system_u:object_r:etc_t:s0\x00", accessList: list,
		}
		err := os.WriteFile(file, []byte("old"), 0o640)
		for name, value := range kept {
			err = errors.Join(err, unix.Setxattr(file, name, []byte(value), 0))
		}
		err = errors.Join(err, unix.Setxattr(file, "security.capability", []byte(capability), 0))
		_, write := h.WriteFile(t.Context(), "/f", host.NewFile{Content: strings.NewReader("new"), UID: 1, GID: 2})
		if err = errors.Join(err, write); err != nil {
			t.Error(err)
			return
		}
		if diff := cmp.Diff(kept, attributes(t, file)); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		info, err := h.Stat("/f")
		if err != nil || info.Mode != 0o640 || info.UID != 1 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

func TestModeLimitsACLOfReplacedFile(t *testing.T) {
	onTmpfs(t, func(h *linux.Host, dir string) {
		file := filepath.Join(dir, "f")
		err := errors.Join(os.WriteFile(file, nil, 0o640), unix.Setxattr(file, accessList, acl(6, 6, 6, 6, 0), 0))
		_, write := h.WriteFile(t.Context(), "/f", host.NewFile{Content: strings.NewReader("new"), UID: -1, GID: -1, Mode: new(uint32(0o600))})
		if err = errors.Join(err, write); err != nil {
			t.Error(err)
			return
		}
		if diff := cmp.Diff(map[string]string{accessList: string(acl(6, 6, 6, 0, 0))}, attributes(t, file)); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
	})
}

// The directory's default ACL applies to new files. A replaced file may have been less accessible.
func TestReplacementAddsNoACL(t *testing.T) {
	onTmpfs(t, func(h *linux.Host, dir string) {
		file := filepath.Join(dir, "f")
		err := errors.Join(os.WriteFile(file, []byte("old"), 0o640), unix.Setxattr(dir, defaultList, acl(6, 6, 6, 6, 0), 0))
		for _, path := range []string{"/f", "/new"} {
			_, write := h.WriteFile(t.Context(), path, host.NewFile{Content: strings.NewReader("new"), UID: -1, GID: -1, Mode: new(uint32(0o640))})
			err = errors.Join(err, write)
		}
		if err != nil {
			t.Error(err)
			return
		}
		if got := attributes(t, file); len(got) > 0 {
			t.Errorf("the replaced file has %q", got)
		}
		if got := attributes(t, filepath.Join(dir, "new")); got[accessList] == "" {
			t.Errorf("the new file has %q", got)
		}
	})
}

func TestXattr(t *testing.T) {
	onTmpfs(t, func(h *linux.Host, dir string) {
		err := errors.Join(os.WriteFile(filepath.Join(dir, "f"), nil, 0o644), os.Symlink("f", filepath.Join(dir, "l")), os.Mkdir(filepath.Join(dir, "d"), 0o755))
		for _, path := range []string{"/f", "/l", "/d", "/"} {
			err = errors.Join(err, setXattr(h, path, "trusted.note", "of "+path))
		}
		if err != nil {
			t.Error(err)
			return
		}
		for _, path := range []string{"/f", "/l", "/d", "/"} {
			if got, err := xattr(h, path, "trusted.note"); got != "of "+path || err != nil {
				t.Errorf("%s has %q, %v", path, got, err)
			}
		}
		if got, err := xattr(h, "/f", "trusted.other"); got != "" || err != nil {
			t.Errorf("an unset attribute is %q, %v", got, err)
		}
		_, get := xattr(h, "/nothing", "trusted.note")
		for _, err := range []error{get, setXattr(h, "/nothing", "trusted.note", "")} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a missing file: %v", err)
			}
		}
	})
}

// The owner of a directory decides who can read new files in it, except for root's files.
func TestRootFilesInheritNoACLFromUserDirectory(t *testing.T) {
	onTmpfs(t, func(h *linux.Host, dir string) {
		err := unix.Setxattr(dir, defaultList, acl(6, 6, 6, 6, 0), 0)
		err = errors.Join(err, os.Chown(dir, 1234, 1234))
		for path, uid := range map[string]int{"/roots": 0, "/users": 1234} {
			_, write := h.WriteFile(t.Context(), path, host.NewFile{Content: strings.NewReader("new"), UID: uid, Mode: new(uint32(0o640))})
			err = errors.Join(err, write)
		}
		if err = errors.Join(err, h.Mkdir("/dir", 0o750)); err != nil {
			t.Error(err)
			return
		}
		for _, name := range []string{"roots", "dir"} {
			if got := attributes(t, filepath.Join(dir, name)); len(got) > 0 {
				t.Errorf("%s has %q", name, got)
			}
		}
		if got := attributes(t, filepath.Join(dir, "users")); got[accessList] == "" {
			t.Errorf("the user's file has %q", got)
		}
	})
}

// An ACL on a user's file must not carry over to root's file in its place.
func TestRootFileInheritsNoACLFromUser(t *testing.T) {
	onTmpfs(t, func(h *linux.Host, dir string) {
		for name, uid := range map[string]int{"users": 1234, "roots": 0} {
			file := filepath.Join(dir, name)
			err := errors.Join(os.WriteFile(file, []byte("old"), 0o640), unix.Setxattr(file, accessList, acl(6, 6, 6, 6, 0), 0), os.Chown(file, uid, 0))
			_, write := h.WriteFile(t.Context(), "/"+name, host.NewFile{Content: strings.NewReader("new"), Mode: new(uint32(0o640))})
			if err = errors.Join(err, write); err != nil {
				t.Error(err)
			}
		}
		if got := attributes(t, filepath.Join(dir, "users")); len(got) > 0 {
			t.Errorf("instead of the user's file it has %q", got)
		}
		if got := attributes(t, filepath.Join(dir, "roots")); got[accessList] == "" {
			t.Errorf("instead of root's file it has %q", got)
		}
	})
}

// An access list that a user made must not outlast the user's ownership: the mode that a File sets would let the user in again, and a
// directory would pass its list on to root's new files.
func TestChownRemovesListsOfTheFormerOwner(t *testing.T) {
	onTmpfs(t, func(h *linux.Host, dir string) {
		for sentence, c := range map[string]struct {
			was, uid, gid int
			keeps         bool
			mode          uint32 // then
		}{
			"root takes a user's":        {1234, 0, -1, false, 0o640},
			"another user gets a user's": {1234, 1235, -1, false, 0o640},
			"a user's gets a group":      {1234, -1, 0, true, 0o660},
			"a user's stays":             {1234, 1234, -1, true, 0o660},
			"root gives its own away":    {0, 1234, -1, true, 0o660},
		} {
			for _, kind := range []string{"file", "directory"} {
				p := filepath.Join(dir, "x")
				err := os.RemoveAll(p)
				if kind == "file" {
					err = errors.Join(err, os.WriteFile(p, nil, 0o600))
				} else {
					err = errors.Join(err, os.Mkdir(p, 0o700), unix.Setxattr(p, defaultList, acl(7, 7, 5, 7, 0), 0))
				}
				err = errors.Join(err, os.Chown(p, c.was, c.was), unix.Setxattr(p, accessList, acl(6, 6, 4, 6, 0), 0))
				n, openErr := h.Edit("/x", host.Links{})
				if err = errors.Join(err, openErr); err != nil {
					t.Error(err)
					return
				}
				err = errors.Join(n.Chown(c.uid, c.gid), n.Close())
				info, statErr := h.Stat("/x")
				got := attributes(t, p)
				if _, taken := got[takenMark]; taken != (kind == "directory" && c.uid == 0) {
					t.Errorf("%s %s: its mark is %v", sentence, kind, taken)
				}
				delete(got, takenMark)
				if err = errors.Join(err, statErr); err != nil || len(got) > 0 != c.keeps || info.Mode != c.mode {
					t.Errorf("%s %s: %v, has mode %04o and %q", sentence, kind, err, info.Mode, got)
				}
			}
		}
	})
}

// A user's file can have more attributes than fit into memory.
func TestReplacementKeepsNoLargeAttributes(t *testing.T) {
	onTmpfs(t, func(h *linux.Host, dir string) {
		file := filepath.Join(dir, "f")
		err := os.WriteFile(file, nil, 0o600)
		for i := range 20 {
			err = errors.Join(err, unix.Setxattr(file, fmt.Sprintf("user.%d", i), make([]byte, 60_000), 0))
		}
		if err != nil {
			t.Error(err)
			return
		}
		const says = "its extended attributes have more than 1048576 bytes"
		if _, err := h.WriteFile(t.Context(), "/f", ownedFile("x")); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v", err)
		}
		if _, err := h.WriteFile(t.Context(), "/g", ownedFile("x")); err != nil {
			t.Error(err)
		}
	})
}

package hosttest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/fettle-dev/fettle/internal/host"
)

// Open implements [host.Reader].
func (h *Host) Open(path string) (io.ReadCloser, error) { return h.files.Open(path) }

// ReadFile implements [host.Reader].
func (h *Host) ReadFile(path string) ([]byte, error) { return h.files.ReadFile(path) }

// ReadDir implements [host.Reader].
func (h *Host) ReadDir(path string) ([]string, error) { return h.files.ReadDir(path) }

// Readlink implements [host.Reader].
func (h *Host) Readlink(path string) (string, error) { return h.files.Readlink(path) }

// Mounted implements [host.Reader].
func (h *Host) Mounted(path string) (bool, error) { return h.files.Mounted(path) }

// Stat implements [host.Reader].
func (h *Host) Stat(path string) (host.FileInfo, error) {
	info, err := h.files.Stat(path)
	return h.owners.shown(info), err
}

// Lstat implements [host.Reader].
func (h *Host) Lstat(path string) (host.FileInfo, error) {
	info, err := h.files.Lstat(path)
	return h.owners.shown(info), err
}

// WriteFile implements [host.Host]. The transcript gets "! write PATH MODE USER GROUP"
// of the new file, or "! write PATH failed".
func (h *Host) WriteFile(ctx context.Context, path string, f host.NewFile) ([sha256.Size]byte, error) {
	return h.write(path, f, func(f host.NewFile) ([sha256.Size]byte, error) {
		return h.files.WriteFile(ctx, path, f)
	})
}

func (h *Host) write(path string, f host.NewFile, put func(host.NewFile) ([sha256.Size]byte, error)) ([sha256.Size]byte, error) {
	old, err := h.Lstat(path)
	owner := ids{f.UID, f.GID}.or(replaced(old, err))
	f.UID, f.GID = h.owners.allowed(owner)
	if prepare := f.Prepare; prepare != nil {
		f.Prepare = func(n host.WritableHandle) error { return prepare(writable{handle{n, h}, n}) }
	}
	sum, err := put(f)
	if err != nil {
		h.record("write", path, "failed")
		return sum, err
	}
	info, err := h.owned(path, owner)
	h.record("write", path, octal(info.Mode), name(info.UID), name(info.GID))
	return sum, err
}

// replaced returns the owner of the file that a write replaces: root if there is none.
func replaced(old host.FileInfo, err error) ids {
	if err != nil || !old.IsRegular() {
		return ids{}
	}
	return ids{old.UID, old.GID}
}

// owned records the owner of a new file and describes it.
func (h *Host) owned(path string, owner ids) (host.FileInfo, error) {
	info, err := h.files.Lstat(path)
	if err != nil {
		return info, err
	}
	h.owners.set(info, owner)
	return h.owners.shown(info), nil
}

// Mkdir implements [host.Host]: "! mkdir PATH MODE".
func (h *Host) Mkdir(path string, mode uint32) error {
	h.record("mkdir", path, octal(mode))
	if err := h.files.Mkdir(path, mode); err != nil {
		return err
	}
	_, err := h.owned(path, ids{})
	return err
}

// Symlink implements [host.Host]: "! symlink PATH TEXT".
func (h *Host) Symlink(text, path string) error {
	h.record("symlink", path, text)
	if err := h.files.Symlink(text, path); err != nil {
		return err
	}
	_, err := h.owned(path, ids{})
	return err
}

// Chown sets the owner of a file that a test has created; -1 leaves one unchanged.
func (h *Host) Chown(path string, uid, gid int) error {
	return h.edit(path, func(n host.WritableHandle) error { return n.Chown(uid, gid) })
}

// Chmod sets the mode of a file that a test has created.
func (h *Host) Chmod(path string, mode uint32) error {
	return h.edit(path, func(n host.WritableHandle) error { return n.Chmod(mode) })
}

func (h *Host) edit(path string, change func(host.WritableHandle) error) error {
	n, err := h.Edit(path, host.Links{})
	if err != nil {
		return err
	}
	return errors.Join(change(n), n.Close())
}

// Remove implements [host.Host]: "! remove PATH".
func (h *Host) Remove(path string) error {
	h.record("remove", path)
	return h.files.Remove(path)
}

// RemoveAll implements [host.Host]: "! removeall PATH".
func (h *Host) RemoveAll(path string) error {
	h.record("removeall", path)
	return h.files.RemoveAll(path)
}

// LookAs implements [host.Reader]. The fake ignores permissions.
func (h *Host) LookAs(host.Credentials) host.Reader { return h.ReadOnly() }

// ActAs implements [host.Host]: new files belong to the user. The fake ignores permissions.
func (h *Host) ActAs(who host.Credentials) host.Host { return acting{h, who} }

type acting struct {
	*Host
	who host.Credentials
}

func (a acting) WriteFile(ctx context.Context, path string, f host.NewFile) ([sha256.Size]byte, error) {
	owner := ids{f.UID, f.GID}.or(ids{int(a.who.UID), int(a.who.GID)})
	f.UID, f.GID = owner.uid, owner.gid
	return a.Host.WriteFile(ctx, path, f)
}

func (a acting) Mkdir(path string, mode uint32) error {
	if err := a.Host.Mkdir(path, mode); err != nil {
		return err
	}
	return a.Chown(path, int(a.who.UID), int(a.who.GID))
}

func octal(mode uint32) string { return fmt.Sprintf("%04o", mode) }

// name returns the name of a user or group in the transcript.
func name(id int) string {
	switch id {
	case 0:
		return "root"
	case -1:
		return "-"
	default:
		return strconv.Itoa(id)
	}
}

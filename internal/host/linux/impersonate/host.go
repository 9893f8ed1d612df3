// Package impersonate looks at and changes a host as another user.
//
// The kernel decides what that user may do: each call runs on an OS thread of its own that is this user to file systems.
package impersonate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/thread"
)

// New returns a host as a user sees and changes it.
func New(h host.Host, who host.Credentials) host.Host { return user{h, who} }

// A user is a host on which a user acts. Methods that it does not have are the same for all users.
type user struct {
	host.Host
	who host.Credentials
}

// assume makes the calling thread the user to file systems. Unless the user is root, that also takes
// away the thread's right to override permissions.
func assume(who host.Credentials) error {
	if os.Geteuid() == int(who.UID) {
		return nil
	}
	groups := make([]int, len(who.Groups))
	for i, g := range who.Groups {
		groups[i] = int(g)
	}
	if err := unix.Setgroups(groups); err != nil {
		return fmt.Errorf("cannot act as user %d: %w", who.UID, err)
	}
	// Neither call returns whether it worked. With an invalid user, they return the current one.
	_, _ = unix.SetfsgidRetGid(int(who.GID))
	_, _ = unix.SetfsuidRetUid(int(who.UID))
	gid, _ := unix.SetfsgidRetGid(-1)
	uid, _ := unix.SetfsuidRetUid(-1)
	if uint32(gid) != who.GID || uint32(uid) != who.UID {
		return fmt.Errorf("cannot act as user %d: %w", who.UID, unix.EPERM)
	}
	return nil
}

// try makes a call as the user.
func (u user) try(call func() error) error {
	return thread.Run(func() error {
		if err := assume(u.who); err != nil {
			return err
		}
		return call()
	})
}

func (u user) Open(path string) (f io.ReadCloser, err error) {
	err = u.try(func() error { f, err = u.Host.Open(path); return err })
	return f, err
}

func (u user) ReadFile(path string) (data []byte, err error) {
	err = u.try(func() error { data, err = u.Host.ReadFile(path); return err })
	return data, err
}

func (u user) Stat(path string) (info host.FileInfo, err error) {
	err = u.try(func() error { info, err = u.Host.Stat(path); return err })
	return info, err
}

func (u user) Lstat(path string) (info host.FileInfo, err error) {
	err = u.try(func() error { info, err = u.Host.Lstat(path); return err })
	return info, err
}

func (u user) ReadDir(path string) (names []string, err error) {
	err = u.try(func() error { names, err = u.Host.ReadDir(path); return err })
	return names, err
}

func (u user) Readlink(path string) (text string, err error) {
	err = u.try(func() error { text, err = u.Host.Readlink(path); return err })
	return text, err
}

func (u user) WriteFile(ctx context.Context, path string, f host.NewFile) (sum [sha256.Size]byte, err error) {
	err = u.try(func() error { sum, err = u.Host.WriteFile(ctx, path, u.owned(f)); return err })
	return sum, err
}

// owned makes the user the owner of a file by default: root's would not be allowed.
func (u user) owned(f host.NewFile) host.NewFile {
	if f.UID == -1 {
		f.UID = int(u.who.UID)
	}
	if f.GID == -1 {
		f.GID = int(u.who.GID)
	}
	return f
}

func (u user) Mkdir(path string, mode uint32) error {
	return u.try(func() error { return u.Host.Mkdir(path, mode) })
}

func (u user) Symlink(text, path string) error {
	return u.try(func() error { return u.Host.Symlink(text, path) })
}

func (u user) Remove(path string) error {
	return u.try(func() error { return u.Host.Remove(path) })
}

func (u user) RemoveAll(path string) error {
	return u.try(func() error { return u.Host.RemoveAll(path) })
}

func (u user) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return u.Host.Query(ctx, u.by(cmd))
}

func (u user) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return u.Host.Run(ctx, u.by(cmd))
}

// by runs a command as the user by default.
func (u user) by(cmd host.Cmd) host.Cmd {
	if cmd.As == nil {
		cmd.As = &u.who
	}
	return cmd
}

func (u user) Mounted(path string) (mounted bool, err error) {
	err = u.try(func() error { mounted, err = u.Host.Mounted(path); return err })
	return mounted, err
}

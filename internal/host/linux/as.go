package linux

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// LookAs implements [host.Reader].
func (h *Host) LookAs(who host.Credentials) host.Reader { return as{h, who} }

// ActAs implements [host.Host].
func (h *Host) ActAs(who host.Credentials) host.Host {
	own := *h
	own.follow = host.FollowAll // as far as the user may go
	return as{&own, who}
}

// as is a host on which somebody else looks and acts. The kernel decides what that one
// may: each call is made on a thread of its own that is this user to file systems.
type as struct {
	*Host
	who host.Credentials
}

// assume makes the calling thread the user to file systems. It takes the thread's right
// to override permissions away with that, unless the user is root.
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
	// Neither call says whether it had an effect: to ask for nobody tells who it is.
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
func (a as) try(call func() error) error {
	return onDoomedThread(func() error {
		if err := assume(a.who); err != nil {
			return err
		}
		return call()
	})
}

func (a as) LookAs(who host.Credentials) host.Reader { return a.Host.LookAs(who) }

func (a as) ActAs(who host.Credentials) host.Host { return a.Host.ActAs(who) }

func (a as) Open(path string) (f io.ReadCloser, err error) {
	err = a.try(func() error { f, err = a.Host.Open(path); return err })
	return f, err
}

func (a as) ReadFile(path string) (data []byte, err error) {
	err = a.try(func() error { data, err = a.Host.ReadFile(path); return err })
	return data, err
}

func (a as) Stat(path string) (info host.FileInfo, err error) {
	err = a.try(func() error { info, err = a.Host.Stat(path); return err })
	return info, err
}

func (a as) Lstat(path string) (info host.FileInfo, err error) {
	err = a.try(func() error { info, err = a.Host.Lstat(path); return err })
	return info, err
}

func (a as) ReadDir(path string) (names []string, err error) {
	err = a.try(func() error { names, err = a.Host.ReadDir(path); return err })
	return names, err
}

func (a as) Readlink(path string) (text string, err error) {
	err = a.try(func() error { text, err = a.Host.Readlink(path); return err })
	return text, err
}

func (a as) WriteFile(ctx context.Context, path string, f host.NewFile) (sum [sha256.Size]byte, err error) {
	err = a.try(func() error { sum, err = a.Host.WriteFile(ctx, path, a.owned(f)); return err })
	return sum, err
}

// owned makes the user the owner of a file where nobody else is asked for: another
// would not be allowed.
func (a as) owned(f host.NewFile) host.NewFile {
	if f.UID == -1 {
		f.UID = int(a.who.UID)
	}
	if f.GID == -1 {
		f.GID = int(a.who.GID)
	}
	return f
}

func (a as) Mkdir(path string, mode uint32) error {
	return a.try(func() error { return a.Host.Mkdir(path, mode) })
}

func (a as) Symlink(text, path string) error {
	return a.try(func() error { return a.Host.Symlink(text, path) })
}

func (a as) Remove(path string) error {
	return a.try(func() error { return a.Host.Remove(path) })
}

func (a as) RemoveAll(path string) error {
	return a.try(func() error { return a.Host.RemoveAll(path) })
}

func (a as) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return a.Host.Query(ctx, a.by(cmd))
}

func (a as) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return a.Host.Run(ctx, a.by(cmd))
}

func (a as) by(cmd host.Cmd) host.Cmd {
	if cmd.As == nil {
		cmd.As = &a.who
	}
	return cmd
}

func (a as) Mounted(path string) (mounted bool, err error) {
	err = a.try(func() error { mounted, err = a.Host.Mounted(path); return err })
	return mounted, err
}

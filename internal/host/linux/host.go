// Package linux is the real host: a root directory and the kernel.
//
// It implements [host.Host] with the packages below it: resolve opens paths inside the root directory, entry
// changes names in directories, command runs commands, impersonate does all that as another user. It needs Linux 5.6
// (openat2) and a mounted /proc.
package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/command"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/entry"
	"github.com/fettle-dev/fettle/internal/host/linux/impersonate"
	"github.com/fettle-dev/fettle/internal/host/linux/resolve"
	"github.com/fettle-dev/fettle/internal/host/linux/watch"
)

var (
	_ host.Host    = (*Host)(nil)
	_ host.Watcher = (*Host)(nil)
)

// Options say which host to open. The zero value is the machine itself.
type Options struct {
	// Root is the directory that is the host's /; default "/". Commands are
	// chrooted into it.
	Root string
	// PID, when above 0, opens the host of a process: its root directory and, for
	// commands, its pid, uts, ipc, net and mount namespaces. Root must be empty.
	PID int
	// Transient runs Detached commands in a transient unit if systemd runs the host. It has no
	// effect if Root is a directory.
	Transient bool
}

// A Host is a machine, a directory, or the namespaces of a process. It is safe for
// concurrent use, but not after Close.
type Host struct {
	root     resolve.Root
	rootFile *os.File // O_PATH
	mounts   *resolve.MountTable
	follow   host.FollowLinks
	patience *descriptor.Patience
	entries  *entry.Entries
	commands *command.Runner
}

// Open opens a host. The caller closes it.
func Open(opts Options) (*Host, error) {
	if opts.PID > 0 && opts.Root != "" {
		return nil, fmt.Errorf("cannot open host: PID %d and Root %q are both set: set one", opts.PID, opts.Root)
	}
	if opts.PID < 0 {
		return nil, fmt.Errorf("cannot open host: PID %d is negative: use 0 or a process", opts.PID)
	}
	h := &Host{patience: new(descriptor.Patience)}
	if err := h.openRoot(rootPath(opts), opts.PID); err != nil {
		return nil, fmt.Errorf("cannot open host: %w", err)
	}
	commands, err := command.New(h, command.Options{
		Root: h.root.FD, PID: opts.PID, Chroot: opts.Root != "" && path.Clean(opts.Root) != "/", Transient: opts.Transient,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open host: %w", err), h.rootFile.Close(), h.mounts.Close())
	}
	h.commands = commands
	return h, nil
}

func rootPath(opts Options) string {
	switch {
	case opts.PID > 0:
		return "/proc/" + strconv.Itoa(opts.PID) + "/root"
	case opts.Root == "":
		return "/"
	default:
		return opts.Root
	}
}

func (h *Host) openRoot(dir string, pid int) error {
	f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	if h.mounts, err = resolve.OpenMountTable(mountinfo(pid)); err != nil {
		return errors.Join(explainProc(err), f.Close())
	}
	h.rootFile, h.root = f, resolve.Root{FD: int(f.Fd()), Mounts: h.mounts}
	h.entries = entry.New(h.root.FD)
	_, err = h.Stat("/")
	if err = explainOpenat2(err); err == nil {
		err = explainProc(unix.Access(descriptor.Path(h.root.FD), unix.F_OK))
	}
	if err != nil {
		return errors.Join(err, f.Close(), h.mounts.Close())
	}
	return nil
}

// mountinfo returns the table of the mounts that a process sees, or the calling thread if it is 0.
func mountinfo(pid int) string {
	if pid > 0 {
		return "/proc/" + strconv.Itoa(pid) + "/mountinfo"
	}
	return "/proc/thread-self/mountinfo"
}

// explainOpenat2 adds a remedy if the kernel, or a filter of system calls, lacks openat2.
func explainOpenat2(err error) error {
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: openat2 is needed: use Linux 5.6 or newer and let no filter deny it", err)
	}
	return err
}

// explainProc adds a remedy if /proc is not mounted: without it every file would seem to be missing.
func explainProc(err error) error {
	if err != nil {
		return fmt.Errorf("descriptors have no names in /proc (%w): mount it with `mount -t proc proc /proc`", err)
	}
	return nil
}

// Close closes the host.
func (h *Host) Close() error {
	return errors.Join(h.rootFile.Close(), h.mounts.Close(), h.commands.Close())
}

// Query implements [host.Reader].
func (h *Host) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return h.commands.Query(ctx, cmd)
}

// Run implements [host.Host]. The end of ctx does not stop a Detached command: see [command.Runner.Run].
func (h *Host) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return h.commands.Run(ctx, cmd)
}

// Resume implements [host.Host].
func (h *Host) Resume(ctx context.Context, owner string) (*host.Resumed, error) {
	return h.commands.Resume(ctx, owner)
}

// Watch implements [host.Watcher].
func (h *Host) Watch() (host.Watch, error) { return watch.New(h.root) }

// LookAs implements [host.Reader].
func (h *Host) LookAs(who host.Credentials) host.Reader { return impersonate.New(h, who) }

// ActAs implements [host.Host].
func (h *Host) ActAs(who host.Credentials) host.Host {
	own := *h
	own.follow = host.FollowAll // the kernel denies whatever the user may not do
	return impersonate.New(&own, who)
}

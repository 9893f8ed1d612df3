// Package linux is the real host: a root directory descriptor and the kernel.
//
// Every path is resolved by the kernel relative to that descriptor with
// openat2(RESOLVE_IN_ROOT), so what a path means never depends on the process
// that asks: an absolute symlink and a ".." stay inside the host's root. It needs
// Linux 5.6 and a mounted /proc.
package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

var _ host.Host = (*Host)(nil)

// Options say which host to open. The zero value is the machine itself.
type Options struct {
	// Root is the directory that is the host's /; default "/". Commands are
	// chrooted into it.
	Root string
	// PID, when above 0, makes the host that of a process: its root directory, and
	// for commands its pid, uts, ipc, net and mount namespaces. Root must be empty.
	PID int
	// Transient runs Detached commands in a transient unit of the host's systemd,
	// when that is what runs the host. In a directory as Root nothing does.
	Transient bool
}

// A Host is a machine, a directory or the namespaces of a process. It is safe for
// concurrent use, but not after Close.
type Host struct {
	root      *os.File // O_PATH
	rootFD    int
	namespace *namespaces // nil: the commands run in our own
	start     launcher
	transient bool
	follow    host.FollowLinks // by whoever changes something by its path
	swept     *sync.Map        // by fileID: directories without leftovers
	durable   *durable
}

// Open opens a host. The caller closes it.
func Open(opts Options) (*Host, error) {
	if opts.PID > 0 && opts.Root != "" {
		return nil, fmt.Errorf("cannot open host: PID %d and Root %q are both set: set one", opts.PID, opts.Root)
	}
	if opts.PID < 0 {
		return nil, fmt.Errorf("cannot open host: PID %d is negative: use 0 or a process", opts.PID)
	}
	h := &Host{start: startPlain, transient: opts.Transient, swept: new(sync.Map), durable: new(durable)}
	if err := h.openRoot(rootPath(opts)); err != nil {
		return nil, fmt.Errorf("cannot open host: %w", err)
	}
	if err := h.chooseLauncher(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open host: %w", err), h.Close())
	}
	return h, nil
}

func rootPath(opts Options) string {
	switch {
	case opts.PID > 0:
		return procPath(opts.PID, "root")
	case opts.Root == "":
		return "/"
	default:
		return opts.Root
	}
}

func (h *Host) openRoot(dir string) error {
	f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	h.root, h.rootFD = f, int(f.Fd())
	_, err = h.Stat("/")
	if err = needs(err); err == nil {
		err = needsProc(unix.Access(fdPath(h.rootFD), unix.F_OK))
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}

// needs says what to do when the kernel, or what filters its calls, lacks openat2.
func needs(err error) error {
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: openat2 is needed: use Linux 5.6 or newer and let no filter deny it", err)
	}
	return err
}

// needsProc says what to do without /proc, where every file would seem to be missing.
func needsProc(err error) error {
	if err != nil {
		return fmt.Errorf("descriptors have no names in /proc (%w): mount it with `mount -t proc proc /proc`", err)
	}
	return nil
}

func (h *Host) chooseLauncher(opts Options) error {
	if opts.PID > 0 {
		ns, err := openNamespaces(opts.PID)
		if err != nil {
			return err
		}
		h.namespace = ns
		h.start = ns.launcher(h.rootFD)
		return nil
	}
	if opts.Root != "" && path.Clean(opts.Root) != "/" {
		h.start = startChrooted(h.rootFD)
		h.transient = false
	}
	return nil
}

// Close lets go of the host.
func (h *Host) Close() error {
	if h.namespace == nil {
		return h.root.Close()
	}
	return errors.Join(h.root.Close(), h.namespace.Close())
}

// maxRetries bounds how often a resolution that the kernel calls off, because
// something was renamed or mounted meanwhile, is tried again.
const maxRetries = 256

// openat opens a path inside the host's root.
func (h *Host) openat(path string, flags uint64) (int, error) {
	if !strings.HasPrefix(path, "/") {
		return -1, errNotAbsolute
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	return openat2(h.rootFD, trimSlashes(path), &how)
}

var errNotAbsolute = errors.New("path is not absolute")

func openat2(dir int, path string, how *unix.OpenHow) (fd int, err error) {
	for range maxRetries {
		fd, err = unix.Openat2(dir, path, how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
	return -1, err
}

// trimSlashes takes away the trailing slashes that would make the kernel follow a
// symlink at the end of a path.
func trimSlashes(path string) string {
	if trimmed := strings.TrimRight(path, "/"); trimmed != "" {
		return trimmed
	}
	return "/"
}

// procPath names what the kernel keeps about a process.
func procPath(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}

// fdPath names an open descriptor of this process, to reopen it or to change what
// only a path can change.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// pathError is how every failure on a path is told.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// missing makes "a component is not a directory" count as absence, which is what
// it means for a path that leads through it.
func missing(err error) error {
	if errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%w (%w)", fs.ErrNotExist, err)
	}
	return err
}

// Package host has the interfaces through which everything else reads and changes a machine.
//
// They come in two halves. A [Reader] only reads; a [Host] is a Reader that also
// changes the machine. Noop is not a flag that providers check: a provider that must
// not write gets a Reader and has nothing to write with.
//
// Paths are absolute and resolve as on the host: symlinks, also absolute ones, stay inside the
// host's own root. The error for a path that does not exist is fs.ErrNotExist.
//
// Each call resolves its path again, so a user who can write to a directory on the way can
// make two calls see two different files. Use methods with paths only where nobody but
// root can write, such as in /etc. Open anything else once, as a [Handle], and read,
// decide and change through that:
//
//	dir, name, err := h.EditParent(path, host.Links{})    // resolves symlinks, once
//	file, err := dir.Edit(name)                           // follows none
//	info := file.Info()                                   // decide by this,
//	err = file.Chown(uid, gid)                            // and change this very file
//	_, err = dir.WriteFile(ctx, name, host.NewFile{...})  // or replace it there
//
// Trees are walked in the same way. [Reader.Lookup] or [Host.Edit] opens the top once;
// [Handle.ReadDir] and [Handle.Child] (or [WritableHandle.Edit]) lead down. None of them
// follows a symlink, so the walk can't leave the tree. A file that is changed after the walk is
// opened again by its path relative to the top, and compared with [FileInfo.Unchanged].
//
// The real host is internal/host/linux, which only cmd/ imports; tests use
// internal/host/hosttest. Implementations are safe for concurrent use.
package host

import (
	"context"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// A Reader reads a host and cannot change it.
type Reader interface {
	// Open opens a regular file for reading and follows symlinks. It never blocks
	// on a fifo or a device: any other type is an error.
	Open(path string) (io.ReadCloser, error)
	// ReadFile reads a whole regular file and follows symlinks. A file larger than
	// MaxReadFile is an error: stream it with Open.
	ReadFile(path string) ([]byte, error)
	// Stat describes the file that a path leads to.
	Stat(path string) (FileInfo, error)
	// Lstat describes the file at a path: it does not follow a symlink there.
	Lstat(path string) (FileInfo, error)
	// Lookup opens the file at a path, of any type. The caller closes it. The error is a
	// *LinkError if there is a symlink that links does not allow.
	Lookup(path string, links Links) (Handle, error)
	// LookupParent opens the directory of a path, and returns the name in it. With
	// links.AtEnd it follows a symlink at the path, whose target need not exist. The name
	// of / is "." in /.
	LookupParent(path string, links Links) (dir Handle, name string, err error)
	// ReadDir lists the names in a directory, sorted. It is ErrManyNames where they take too much memory.
	ReadDir(path string) ([]string, error)
	// Mounted reports whether a path is a mount point. It does not follow a symlink there. A
	// path that does not exist is no mount point.
	Mounted(path string) (bool, error)
	// Readlink returns the text of a symlink, unresolved.
	Readlink(path string) (string, error)
	// LookPath finds an executable like the host's root user: an absolute path
	// as it is, a bare name in SearchPath. A missing one is fs.ErrNotExist.
	LookPath(name string) (string, error)
	// Query runs a command that only reads, which the caller must guarantee.
	Query(ctx context.Context, cmd Cmd) (Result, error)
	// LookAs returns the same host with the permissions of a user. Use it to read where that user can
	// write: symlinks then lead nowhere that the user could not read anyway.
	LookAs(who Credentials) Reader
}

// A Host is a Reader that can also change the host.
type Host interface {
	Reader
	// Edit is Lookup for a file that is to be changed.
	Edit(path string, links Links) (WritableHandle, error)
	// EditParent is LookupParent for a file that is to be changed.
	EditParent(path string, links Links) (dir WritableHandle, name string, err error)
	// WriteFile replaces or creates a regular file atomically: a reader sees the
	// old file or the new one, also after a crash. The temporary file is in the
	// same directory and is removed after a failure. A symlink at path is replaced,
	// not followed; a directory at path is an error. The new file inherits extended attributes
	// of the regular file that it replaces: the access list, the security label, user.*
	// and trusted.*, but neither capabilities nor signatures, which vouch for the old content. It
	// inherits set-ID bits if the old file has one hard link, in a directory that only root can
	// write to. It returns the SHA-256 of the written bytes.
	WriteFile(ctx context.Context, path string, f NewFile) (sum [32]byte, err error)
	// Mkdir makes one directory; its parent must exist.
	Mkdir(path string, mode uint32) error
	// Symlink makes path a symlink with this text. It atomically replaces anything but a
	// directory.
	Symlink(text, path string) error
	// Remove removes a file, a symlink or an empty directory, if there is one.
	Remove(path string) error
	// RemoveAll removes a path and everything below it, if there is anything. It follows no
	// symlinks. If it finds a mount point, or a file that is immutable or append-only, it removes nothing.
	RemoveAll(path string) error
	// Run runs a command that may change the host.
	Run(ctx context.Context, cmd Cmd) (Result, error)
	// Resume returns the Detached command of an owner that an earlier process started but did not see the
	// end of, once it has ended. It returns nil if there is none. Each command is returned once. The command is killed
	// at the Timeout that it was started with. The error is the error of ctx, or another reason why the end of the
	// command is unknown; the command is not forgotten then.
	Resume(ctx context.Context, owner string) (*Resumed, error)
	// ActAs returns the same host with the permissions of a user: the kernel limits every change to
	// what that user may do, whatever others put in its way. New files belong to the
	// user.
	ActAs(who Credentials) Host
}

// MaxReadFile is the largest file, in bytes, that ReadFile reads.
const MaxReadFile = 64 << 20

// SearchPath is where LookPath and commands look for executables, and the default PATH of
// commands.
const SearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// FileInfo describes a file.
type FileInfo struct {
	Type     fs.FileMode // type bits only: 0 for a regular file, fs.ModeDir, fs.ModeSymlink, ...
	Mode     uint32      // the twelve permission bits, as in 0o4755
	UID, GID int
	Size     int64
	ModTime  time.Time // when its content was last written
	// ChangeTime is when its content or anything else, such as its owner or mode, last changed.
	ChangeTime time.Time
	// AccessTime is when it was last read, which many file systems record only once a day.
	AccessTime time.Time
	Dev, Ino   uint64
	Nlink      uint64
}

// IsRegular reports whether it is a regular file.
func (i FileInfo) IsRegular() bool { return i.Type == 0 }

// IsDir reports whether it is a directory.
func (i FileInfo) IsDir() bool { return i.Type == fs.ModeDir }

// IsSymlink reports whether it is a symbolic link.
func (i FileInfo) IsSymlink() bool { return i.Type == fs.ModeSymlink }

// OwnedByRoot reports whether it belongs to root, or to the user that runs Fettle, who counts as root.
func (i FileInfo) OwnedByRoot() bool { return i.UID == 0 || i.UID == os.Geteuid() }

// NewFile is what WriteFile writes. Owner, group and mode are set before the
// file is visible under its name, so a secret is never readable by others.
type NewFile struct {
	Content io.Reader
	// UID and GID of the new file; -1 inherits those of the regular file that is
	// replaced, else root's.
	UID, GID int
	// Mode is the twelve permission bits; nil inherits those of the regular file that
	// is replaced, else 0644. The umask has no effect.
	Mode *uint32
	// Was, when set, is the file that must have the name until it is replaced; the zero value stands for
	// no file. Any other file, or a change to it, is the error ErrChanged.
	Was *FileInfo
	// Prepare, when set, is called with the complete staged file before Check: to label it.
	Prepare func(staged WritableHandle) error
	// Check, when set, is called with the path of the complete staged file on the host, before it
	// replaces the old one. Its error is returned and leaves the old file in place.
	Check func(ctx context.Context, staged string) error
}

// A Cmd is a command to run: an argv, never a shell string. Secrets belong in
// Stdin or Env, never in Args, which any user of the host can read.
type Cmd struct {
	Args []string // Args[0] is found with LookPath
	// Env is KEY=value, added to a minimal environment: PATH, LC_ALL=C.UTF-8, HOME=/root.
	Env []string
	// BareEnv makes Env the whole environment, without even PATH.
	BareEnv bool
	// As is the user who runs it; nil is the caller, which is the host's root.
	As *Credentials
	// Umask of the command, such as 0o022; nil is the caller's.
	Umask *uint32
	Stdin []byte
	Dir   string // default /
	// Timeout bounds the run; 0 is DefaultTimeout. After it, the whole
	// process group is killed and the error wraps context.DeadlineExceeded.
	Timeout time.Duration
	// MaxOutput bounds each of Stdout and Stderr in bytes; 0 is
	// DefaultMaxOutput. The rest is read and dropped, and Result.Truncated is set.
	MaxOutput int
	// Show returns the part of the output that debug logs may contain, without any secret;
	// nil logs only its length.
	Show func(Result) string
	// Repeat is a line for a shell that repeats the command with its input, for debug logs, without any secret; "" is none.
	Repeat string
	// ShownArgs are Args for debug logs; nil is Args as they are.
	ShownArgs []string
	// Services marks a command that asks for the state of services, and has nothing from an author but validated names. Only
	// such a command reaches the host's processes, /run and sockets in a simulation.
	Services bool
	// Confinement, when set, limits what the command can do.
	Confinement *Confinement
	// Detached marks work that must survive the caller, such as a dpkg run. The agent
	// runs it in a transient unit of the host's service manager, outside its own
	// control group. The end of the caller's context never stops it; its Timeout does
	// and, if it is a child of the caller, an abort ([WithAbort]). Processes that it
	// leaves running survive.
	Detached bool
	// Job identifies a Detached command.
	Job Job
}

// A Confinement limits a command. The command does not start if the host can't confine it. All processes that it starts
// are killed when it ends; without systemd on the host, a Run kills only those that stayed in its process group.
type Confinement struct {
	// ReadOnly prevents a Query from changing the host. Its command has mount, pid, ipc, uts and network namespaces of
	// its own. In them, every file system is read-only, /run is empty, /dev has only null, zero, full, random, urandom,
	// tty and shm, and /tmp, /var/tmp and /dev/shm are empty and take up to 64 MiB each. Of root's capabilities it has
	// only the one to read all files. It cannot create Unix sockets, memory without a name, leases, nor watches of files. It
	// can open a fifo to read, and lock files, as long as it runs. A Run ignores ReadOnly.
	ReadOnly bool
	// Network leaves the network of the host to a ReadOnly command, but neither its Unix nor its vsock sockets.
	Network bool
	// Sockets are paths of Unix sockets that a ReadOnly command can connect to. Missing ones are ignored. With any, the
	// command can also connect to other sockets outside the empty directories, if they are in the file system, and to
	// abstract ones if it has the Network, before Linux 6.12.
	Sockets []string
	// Services leaves to a ReadOnly command the processes of the host, /run, and the network with all sockets. As root, it can
	// change the host through them: use it for commands that contain nothing from an author but validated names.
	Services bool
	// Memory and Tasks limit the memory, in bytes, and the number of processes and threads; 0 is no limit. systemd
	// applies them to all processes together. Without it, there is no limit on Tasks, and Memory is what each process
	// can have for itself alone.
	Memory int64
	Tasks  int
}

// A Job identifies a Detached command to later processes.
type Job struct {
	// Owner is what the command works on, such as "Exec/migrate". An owner has one command at a time: Run first waits
	// for an earlier one. The command of the owner "" can't be resumed.
	Owner string
	// Refresh and Events tell the caller of [Host.Resume] why the command was started.
	Refresh bool // as the refresh of a resource, rather than a change
	Events  int  // that were pending at that time
}

// A Resumed is a Detached command that has ended, as [Host.Run] would have returned it.
type Resumed struct {
	Job    Job
	Args   []string
	Result Result
	Err    error
}

// Credentials are the numeric user and groups of a process; the caller looks up names on the host.
// Groups are all supplementary groups. A command enters its Dir before it gets them,
// so Dir may be a directory that its user can't reach.
type Credentials struct {
	UID, GID uint32
	Groups   []uint32
}

// Defaults of Cmd.
const (
	DefaultTimeout   = 5 * time.Minute
	DefaultMaxOutput = 1 << 20
)

// Output returns everything that a command wrote, standard error last: the Show of a [Cmd] whose output never
// has a secret.
func Output(res Result) string {
	stdout := string(res.Stdout)
	if stdout != "" && !strings.HasSuffix(stdout, "\n") {
		stdout += "\n"
	}
	return stdout + string(res.Stderr)
}

// A Result is how a command ended. A non-zero exit is data: an error from Query or
// Run means that the command could not start or was killed.
type Result struct {
	ExitCode       int // 128+n when signal n ended it
	Stdout, Stderr []byte
	Truncated      bool // output beyond Cmd.MaxOutput was dropped
}

// Package host is the door to a machine, as interfaces.
//
// It comes in two halves. A [Reader] looks; a [Host] is a Reader that also
// changes things. Noop is not a flag that a provider tests: a provider that may
// not write is handed a Reader and has nothing to write with.
//
// Paths are absolute and mean what they mean on the host: symlinks, absolute ones
// too, resolve inside the host's own root and nothing escapes it. A path that does
// not exist gives an error for which errors.Is(err, fs.ErrNotExist) holds.
//
// A path is resolved again by each call, and anyone who can write to a directory on the way
// can make two calls see two files. Methods that take a path are for places that only
// root can write to, as /etc. Anything else is opened once, as a [Handle], and is looked
// at, decided about and changed through that:
//
//	dir, name, err := h.EditParent(path, host.Links{})    // resolves symlinks, once
//	file, err := dir.Edit(name)                           // follows none
//	info := file.Info()                                   // decide by this,
//	err = file.Chown(uid, gid)                            // and change this very file
//	_, err = dir.WriteFile(ctx, name, host.NewFile{...})  // or replace it there
//
// A tree is walked in the same way. Its top is opened once, by [Reader.Lookup] or
// [Host.Edit]; from there [Handle.ReadDir] and [Handle.Child] (or
// [WritableHandle.Edit]) lead down. None of them follows a symlink, so the walk can't
// leave the tree, also where its top was reached through one. What was decided on a walk
// and is changed later is opened from the top again, by its path relative to it, and
// compared with [FileInfo.Unchanged] to what was seen.
//
// The real host is internal/host/linux, which only commands import; tests use
// internal/host/hosttest. Implementations are safe for concurrent use.
package host

import (
	"context"
	"io"
	"io/fs"
	"strings"
	"time"
)

// A Reader looks at a host and cannot change it.
type Reader interface {
	// Open opens a regular file for reading, following symlinks. It never blocks
	// on a fifo or a device: anything but a regular file is an error.
	Open(path string) (io.ReadCloser, error)
	// ReadFile reads a whole regular file, following symlinks. A file larger than
	// MaxReadFile is an error; stream it with Open.
	ReadFile(path string) ([]byte, error)
	// Stat describes what a path leads to.
	Stat(path string) (FileInfo, error)
	// Lstat describes a path itself: a symlink is not followed.
	Lstat(path string) (FileInfo, error)
	// Lookup opens what is at a path, of any type. The caller closes it. The error is a
	// *LinkError where a symlink is on the way that is not to be followed.
	Lookup(path string, links Links) (Handle, error)
	// LookupParent opens the directory that a path is in, and returns the name in it. With
	// links.AtEnd they are those of what a symlink at the path leads to, which need not
	// exist. The name of / is "." in itself.
	LookupParent(path string, links Links) (dir Handle, name string, err error)
	// ReadDir lists the names in a directory, sorted. It is ErrManyNames where they take too much memory.
	ReadDir(path string) ([]string, error)
	// Mounted reports whether something is mounted on a path: the path itself, a symlink
	// not followed. What is not there is no mount.
	Mounted(path string) (bool, error)
	// Readlink returns the text of a symlink, unresolved.
	Readlink(path string) (string, error)
	// LookPath finds an executable as the host's root user would: an absolute path
	// as it is, a bare name in SearchPath. Not found is fs.ErrNotExist.
	LookPath(name string) (string, error)
	// Query runs a command that only reads. That it does is the caller's promise.
	Query(ctx context.Context, cmd Cmd) (Result, error)
	// LookAs is the same host as a user may look at it. What lies where a user can write
	// is read so: a symlink leads that user nowhere that was not open before.
	LookAs(who Credentials) Reader
}

// A Host is a Reader that can also change the host.
type Host interface {
	Reader
	// Edit is Lookup for what is to be changed.
	Edit(path string, links Links) (WritableHandle, error)
	// EditParent is LookupParent for what is to be changed.
	EditParent(path string, links Links) (dir WritableHandle, name string, err error)
	// WriteFile replaces or creates a regular file atomically: a reader sees the
	// old file or the new one, also after a crash. The temporary file lies in the
	// same directory and is gone after a failure. A symlink at path is replaced,
	// not followed; a directory at path is an error. Extended attributes of a regular
	// file that is replaced are kept: its access list, its security label, those of
	// users (user.*) and of root (trusted.*); capabilities and signatures, which vouch
	// for the old content, are not. Set-ID bits are kept of a file that has one hard link
	// and is in a directory that only root can write to. It returns the SHA-256 of the bytes that were written.
	WriteFile(ctx context.Context, path string, f NewFile) (sum [32]byte, err error)
	// Mkdir makes one directory; its parent must exist.
	Mkdir(path string, mode uint32) error
	// Symlink makes path a symlink with this text, atomically replacing anything
	// there but a directory.
	Symlink(text, path string) error
	// Remove removes a file, a symlink or an empty directory. What is not there
	// already is no error.
	Remove(path string) error
	// RemoveAll removes a path and all below it without leaving its file system
	// by symlinks. What is not there already is no error.
	RemoveAll(path string) error
	// Run runs a command that may change the host.
	Run(ctx context.Context, cmd Cmd) (Result, error)
	// ActAs is the same host as a user may change it: the kernel holds every change to
	// what that user may do, whatever is put in its way meanwhile. What is made is the
	// user's.
	ActAs(who Credentials) Host
}

// MaxReadFile is the largest file, in bytes, that ReadFile reads.
const MaxReadFile = 64 << 20

// SearchPath is where LookPath and commands look for executables, and the PATH of
// a command that sets none.
const SearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// FileInfo describes a file.
type FileInfo struct {
	Type     fs.FileMode // type bits only: 0 for a regular file, fs.ModeDir, fs.ModeSymlink, ...
	Mode     uint32      // the twelve permission bits, as in 0o4755
	UID, GID int
	Size     int64
	ModTime  time.Time // when its content was last written
	// ChangeTime is when anything of it was last changed, its owner or mode included.
	ChangeTime time.Time
	// AccessTime is when it was last read, which many file systems note only once a day.
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

// NewFile is what WriteFile writes. Owner, group and mode are in place before the
// file is visible under its name, so a secret is never readable for a moment.
type NewFile struct {
	Content io.Reader
	// UID and GID of the new file; -1 takes those of the regular file that is
	// replaced, else root's.
	UID, GID int
	// Mode is the twelve permission bits; nil takes those of the regular file that
	// is replaced, else 0644. The umask plays no part.
	Mode *uint32
	// Was, when set, is what has the name until the new file takes its place, the zero value
	// for nothing: anything else, or a later change of it, is the error ErrChanged.
	Was *FileInfo
	// Prepare, when set, is called with the complete staged file before Check: to label it.
	Prepare func(staged WritableHandle) error
	// Check, when set, is called with the path of the complete staged file (as a
	// command on the host would name it) before it takes the place of the old one.
	// Its error keeps the old file and is returned.
	Check func(ctx context.Context, staged string) error
}

// A Cmd is a command to run: an argv, never a shell string. Secrets go through
// Stdin or Env, never through Args, which any user of the host can read.
type Cmd struct {
	Args []string // Args[0] is found with LookPath
	// Env is KEY=value on top of a minimal environment: PATH, LC_ALL=C.UTF-8, HOME=/root.
	Env []string
	// BareEnv makes Env the whole environment: nothing is below it, not even PATH.
	BareEnv bool
	// As is who runs it; nil is the caller, which is the host's root.
	As *Credentials
	// Umask of the command, as in 0o022; nil takes the caller's.
	Umask *uint32
	Stdin []byte
	Dir   string // default /
	// Timeout bounds the run; 0 takes DefaultTimeout. When it passes, the whole
	// process group is killed and the error wraps context.DeadlineExceeded.
	Timeout time.Duration
	// MaxOutput bounds each of Stdout and Stderr in bytes; 0 takes
	// DefaultMaxOutput. The rest is read and dropped, and the Result says so.
	MaxOutput int
	// Show returns what people who debug may be shown of the output, without any secret;
	// nil shows how long it was and nothing of it.
	Show func(Result) string
	// ShownArgs are Args for the same people; nil for Args as they are.
	ShownArgs []string
	// Detached marks work that must survive the caller's end, such as a dpkg run:
	// a long-lived agent runs it in a transient unit of the host's service manager,
	// outside its own control group. The end of the caller's context does not stop
	// it anywhere; its Timeout does and, where it is a child of the caller, an abort
	// ([WithAbort]). What it leaves running goes on.
	Detached bool
}

// Credentials are who a process is, by number: names are the host's, and the caller
// looks them up there. Groups are the supplementary ones, all of them. A command's Dir
// is entered before they are taken on, so it may be one that its user can't reach.
type Credentials struct {
	UID, GID uint32
	Groups   []uint32
}

// Defaults of Cmd.
const (
	DefaultTimeout   = 5 * time.Minute
	DefaultMaxOutput = 1 << 20
)

// Output is all that a command wrote, standard error last: the Show of a [Cmd] that never
// writes a secret.
func Output(res Result) string {
	stdout := string(res.Stdout)
	if stdout != "" && !strings.HasSuffix(stdout, "\n") {
		stdout += "\n"
	}
	return stdout + string(res.Stderr)
}

// A Result is how a command ended. A non-zero exit is data: an error from Query or
// Run means that the command could not be run at all or not to its end.
type Result struct {
	ExitCode       int // 128+n when signal n ended it
	Stdout, Stderr []byte
	Truncated      bool // output beyond Cmd.MaxOutput was dropped
}

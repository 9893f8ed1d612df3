package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// A Handle is one file of any type, held open. Whatever happens to its path, every method
// is about that same file, and below it no symlink is followed. A Handle is not safe for
// concurrent use.
type Handle interface {
	io.Closer
	// Path is the path that it was opened by, for messages and for commands.
	Path() string
	// Info describes the file as it was when it was opened.
	Info() FileInfo
	// Stat describes the file as it is now.
	Stat() (FileInfo, error)
	// Open opens a regular file for reading; any other type is an error. The stream stays
	// open when the Handle is closed. It waits for at most five seconds while another
	// process holds a lease on the file.
	Open() (io.ReadCloser, error)
	// Readlink returns the text of a symlink, unresolved.
	Readlink() (string, error)
	// Xattr is an extended attribute, as security.selinux; nil where the file has none or
	// its file system knows none.
	Xattr(name string) ([]byte, error)
	// ReadDir lists the names in a directory, sorted. It is ErrManyNames where they take too much memory.
	ReadDir() ([]string, error)
	// Child opens what has a name in a directory. The name may be a relative path, as in
	// "a/b": a symlink on the way is a *LinkError, one at its end is opened itself.
	Child(name string) (Handle, error)
	// Mounted reports whether the file is the root of a mount.
	Mounted() (bool, error)
	// OnlyRootWrites reports whether nobody but root, or the user who runs Fettle, can change
	// which files are in a directory, or put another directory in its place.
	OnlyRootWrites() (bool, error)
}

// A WritableHandle is a Handle that also changes the file, or what a directory holds. Names
// are those of direct children.
type WritableHandle interface {
	Handle
	// Chown changes owner and group, of a symlink its own; -1 leaves one as it is. As
	// everywhere on Linux, a file loses its set-ID bits with that: set the mode afterwards.
	// A file with several hard links in a directory that others can write to is a
	// *HardLinkError: any of them may have linked a file there that is not theirs.
	Chown(uid, gid int) error
	// Chmod sets the twelve permission bits. It refuses a symlink, and hard links as Chown.
	Chmod(mode uint32) error
	// SetXattr sets an extended attribute.
	SetXattr(name string, value []byte) error
	// Edit is Child for what is to be changed.
	Edit(name string) (WritableHandle, error)
	// WriteFile is [Host.WriteFile] for a name in this directory. Owner, mode and extended
	// attributes that it takes over are read of one file, and are those of the file that is
	// replaced: when another takes its place meanwhile the error is ErrChanged.
	WriteFile(ctx context.Context, name string, f NewFile) (sum [sha256.Size]byte, err error)
	// Mkdir makes a directory. What it returns is the very directory that was made.
	Mkdir(name string, mode uint32) (WritableHandle, error)
	// Symlink makes a symlink with this text, atomically replacing anything there but a
	// directory. What it returns is the very symlink that was made.
	Symlink(text, name string) (WritableHandle, error)
	// Remove removes a file, a symlink or an empty directory. What is not there already
	// is no error. With was it removes nothing else: where something else has the name, or
	// it has changed since, the error is ErrChanged.
	Remove(name string, was *FileInfo) error
	// RemoveAll removes what has a name and all below it. What is not there already is no
	// error.
	RemoveAll(name string) error
}

// Links says which symlinks are followed on the way to a path. The zero value follows those
// that only root can have put there: root owns the symlink and its directory, and nobody
// else can write to the directory or, where it is sticky, take the symlink away.
type Links struct {
	Follow FollowLinks
	// Home is a user whose own symlinks, in directories of their own within their home,
	// are followed too, as long as the path ends in a directory that is theirs.
	Home *Home
	// AtEnd also follows a symlink that the path itself is.
	AtEnd bool
}

// FollowLinks is whose symlinks are followed.
type FollowLinks int

// Whose symlinks are followed. The user who runs Fettle counts as root.
const (
	FollowRoots FollowLinks = iota
	FollowAll
	FollowNone
)

// A Home is a user's home directory.
type Home struct {
	UID int
	Dir string
}

// A LinkError is a symlink that is not followed.
type LinkError struct {
	// Path of the symlink, or with Why empty a path that has one somewhere.
	Path string
	// Why it is not followed, as a clause; empty where none is.
	Why string
}

// Error names the symlink.
func (e *LinkError) Error() string {
	if e.Why == "" {
		return e.Path + " leads through a symlink, and here none is followed"
	}
	return fmt.Sprintf("symlink %s is not followed: %s", e.Path, e.Why)
}

// A HardLinkError is a file that may be another than its path says: it has several hard
// links, and its directory is one that others can write to.
type HardLinkError struct{ Path string }

// Error names the ways out.
func (e *HardLinkError) Error() string {
	return e.Path + " has several hard links, and users other than root can write to its directory: " +
		"remove the file so that it is created again, or make the directory writable by root only"
}

// ErrChanged means that a file is no longer what it was when a change was decided.
var ErrChanged = errors.New("the file was changed or replaced by another process meanwhile")

// SameFile reports whether both describe one file, whatever path led to it.
func (i FileInfo) SameFile(o FileInfo) bool { return i.Dev == o.Dev && i.Ino == o.Ino }

// Unchanged reports whether both describe one file that nothing was changed of in between.
func (i FileInfo) Unchanged(o FileInfo) bool {
	return i.SameFile(o) && i.ChangeTime.Equal(o.ChangeTime)
}

package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// A Handle is one open file of any type. Whatever happens to its path, all methods use
// that same file, and follow no symlink below it. A Handle is not safe for concurrent use.
type Handle interface {
	io.Closer
	// Path is the path by which it was opened, for messages and for commands.
	Path() string
	// Info describes the file as it was when it was opened.
	Info() FileInfo
	// Stat describes the file as it is now.
	Stat() (FileInfo, error)
	// Open opens a regular file for reading; any other type is an error. The stream stays
	// open when the Handle is closed. Open waits up to five seconds for another process that
	// holds a lease on the file.
	Open() (io.ReadCloser, error)
	// Readlink returns the text of a symlink, unresolved.
	Readlink() (string, error)
	// Xattr returns an extended attribute such as security.selinux; nil if the file lacks it or
	// its file system supports none.
	Xattr(name string) ([]byte, error)
	// ReadDir lists the names in a directory, sorted. It is ErrManyNames if they take too much memory.
	ReadDir() ([]string, error)
	// Child opens a file in a directory by its name or a relative path such as "a/b". A symlink
	// on the way is a *LinkError; one at the end is opened itself.
	Child(name string) (Handle, error)
	// Mounted reports whether the file is the root of a mount.
	Mounted() (bool, error)
	// Protection returns why not even root can change or remove the file, or what is in the directory, as a clause with its
	// remedy: it is immutable, append-only, or on a read-only file system. "" means that root can.
	Protection() (string, error)
	// OnKernelFS reports whether the file is in a file system whose files only the kernel makes and removes, such as /proc.
	OnKernelFS() (bool, error)
	// RemovalRefusal returns why [WritableHandle.RemoveAll] would refuse to remove the file, as far as can be known; nil
	// otherwise. It calls read with the number of names that it reads in a directory, and ends with its error.
	RemovalRefusal(read func(names int) error) error
	// OnlyRootWrites reports whether only root, or the user that runs Fettle, can change
	// which files are in a directory, or replace the directory, and others could not before Fettle changed that.
	OnlyRootWrites() (bool, error)
	// OnlyRootWrote reports whether only root can have given a name in a directory to a file, such as by a hard link. It
	// is about this directory alone, wherever it is.
	OnlyRootWrote() (bool, error)
}

// A WritableHandle is a Handle that also changes the file or the contents of a directory. Names
// are those of direct children.
type WritableHandle interface {
	Handle
	// Chown changes owner and group, of a symlink itself; -1 leaves one unchanged. As
	// everywhere on Linux, the file loses its set-ID bits: set the mode afterwards.
	// A file with several hard links in a directory that others can write to is a
	// *HardLinkError: they may have linked a file that is not theirs. A symlink of another user than
	// root that is to get another owner is a *ForeignLinkError. Any other file of such a user loses its access lists. Symlinks in a directory that others could
	// write to until Chown or Chmod changed that are not followed any more: see [Links].
	Chown(uid, gid int) error
	// Chmod sets the twelve permission bits. It refuses symlinks, and hard links like Chown.
	Chmod(mode uint32) error
	// SetXattr sets an extended attribute.
	SetXattr(name string, value []byte) error
	// Edit is Child for a file that is to be changed.
	Edit(name string) (WritableHandle, error)
	// WriteFile is [Host.WriteFile] for a name in this directory. The owner, mode and extended
	// attributes that the new file inherits come from the file that it replaces: if another
	// file takes that name meanwhile, the error is ErrChanged.
	WriteFile(ctx context.Context, name string, f NewFile) (sum [sha256.Size]byte, err error)
	// Mkdir makes a directory and returns exactly that directory.
	Mkdir(name string, mode uint32) (WritableHandle, error)
	// Symlink makes a symlink with this text and returns exactly that symlink. It atomically replaces
	// anything but a directory.
	Symlink(text, name string) (WritableHandle, error)
	// Remove removes a file, a symlink or an empty directory, if there is one. With was it removes
	// only that file: if another one has the name or it has changed since, the error is
	// ErrChanged.
	Remove(name string, was *FileInfo) error
	// RemoveAll removes a file and everything below it, if there is one. If it finds a mount point, or a file that is
	// immutable or append-only, it removes nothing.
	RemoveAll(name string) error
}

// CheckProtection returns the Protection of a file as an error; nil without any.
func CheckProtection(file Handle) error {
	why, err := file.Protection()
	if why != "" {
		err = fmt.Errorf("%s %s", file.Path(), why)
	}
	return err
}

// Links says which symlinks are followed on the way to a path. The zero value follows those
// that only root can have created: root owns the symlink and all directories above it, nobody
// else can write to its directory, or rename what is in the others, and nobody else could until a
// Chown or Chmod of this program changed that: they may have left symlinks of root's there.
type Links struct {
	Follow FollowLinks
	// Home is a user whose own symlinks, in directories that they own below their home,
	// are followed too, as long as the path ends in a directory that they own.
	Home *Home
	// AtEnd also follows a symlink at the path itself.
	AtEnd bool
}

// FollowLinks says whose symlinks are followed.
type FollowLinks int

// Whose symlinks are followed. The user that runs Fettle counts as root.
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
	// Path of the symlink or, if Why is empty, a path that contains one.
	Path string
	// Why it is not followed, as a clause; empty if no symlink is followed here.
	Why string
}

// Error names the symlink.
func (e *LinkError) Error() string {
	if e.Why == "" {
		return e.Path + " contains a symlink, and symlinks are not followed here"
	}
	return fmt.Sprintf("symlink %s is not followed: %s", e.Path, e.Why)
}

// A HardLinkError is a file that may not be the one that its path suggests: it has several hard
// links, and others can write to its directory, or could before Fettle changed that.
type HardLinkError struct{ Path string }

// Error names the remedies.
func (e *HardLinkError) Error() string {
	return e.Path + " has several hard links, and users other than root can write to its directory, or could before: " +
		"remove the file so that it is created again, or make it in a directory that only root could ever write to"
}

// A ForeignLinkError is a symlink that must not change its owner: a user decided where it leads, and root's symlinks are
// followed.
type ForeignLinkError struct {
	Path string
	UID  int // the user
}

// Error names the remedies.
func (e *ForeignLinkError) Error() string {
	return fmt.Sprintf("symlink %s belongs to user %d, who decided where it leads, so it gets no other owner: "+
		"manage its target, so that it is created again, or remove it, or leave it out", e.Path, e.UID)
}

// ErrChanged means that a file is not the same, or has changed, since a change was decided.
var ErrChanged = errors.New("the file was changed or replaced by another process meanwhile")

// SameFile reports whether both describe the same file, whatever paths led to it.
func (i FileInfo) SameFile(o FileInfo) bool { return i.Dev == o.Dev && i.Ino == o.Ino }

// Unchanged reports whether both describe the same file without a change in between.
func (i FileInfo) Unchanged(o FileInfo) bool {
	return i.SameFile(o) && i.ChangeTime.Equal(o.ChangeTime)
}

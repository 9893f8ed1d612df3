package linux

import (
	"errors"
	"os"
	"regexp"

	"golang.org/x/sys/unix"
)

// fileID tells directories apart whatever path leads to them.
type fileID struct{ dev, ino uint64 }

// sweep removes the files that writes which were killed left staged in the entry's
// directory. It looks at each directory once, as what this Host stages it also removes,
// and it stops no write: what can't be removed now is for the next process.
func (h *Host) sweep(e entry) {
	info, err := fstat(e.dir)
	if err != nil {
		return
	}
	if _, swept := h.swept.LoadOrStore(fileID{info.Dev, info.Ino}, true); swept {
		return
	}
	fd, err := unix.Openat(e.dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	dir := os.NewFile(uintptr(fd), e.path)
	defer dir.Close()
	for range maxSwept / nameBatch {
		names, err := dir.Readdirnames(nameBatch)
		for _, name := range names {
			if staged.MatchString(name) {
				removeAbandoned(e.dir, name)
			}
		}
		if err != nil {
			return
		}
	}
}

// maxSwept is how many names of a directory are looked at.
const maxSwept = 1 << 20

// staged are the names that tempName gives. It is never changed.
var staged = regexp.MustCompile(`^\.fettle-[A-Z2-7]{26}$`)

// removeAbandoned removes a staged file unless the process that stages it lives, which
// its lock tells.
func removeAbandoned(dir int, name string) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	info, err := fstat(fd)
	if err == nil && info.IsRegular() && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = unix.Unlinkat(dir, name, 0)
	}
}

// create makes an empty file with a temporary name, locked until the descriptor is closed
// against being taken for abandoned. One that a sweep took before it was locked is
// followed by another, under a name that no sweep has seen.
func (e entry) create() (temp string, fd int, err error) {
	for range maxRetries {
		temp = tempName()
		fd, err = unix.Openat(e.dir, temp, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return "", -1, err
		}
		// Where a file system knows no locks, no sweep gets one either.
		_ = unix.Flock(fd, unix.LOCK_SH)
		info, err := fstat(fd)
		if err == nil && info.Nlink > 0 {
			return temp, fd, nil
		}
		if err = errors.Join(err, unix.Close(fd)); err != nil {
			return "", -1, err
		}
	}
	return "", -1, unix.EAGAIN
}

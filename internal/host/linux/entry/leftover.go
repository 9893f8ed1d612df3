package entry

import (
	"errors"
	"os"
	"regexp"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// sweep removes staged files that killed processes left in the entry's directory. It checks each
// directory once, because this process removes its own, and its errors stop no write:
// the next process tries again.
func (e Entry) sweep() {
	info, err := descriptor.Stat(e.Dir)
	if err != nil {
		return
	}
	if _, swept := e.all.swept.LoadOrStore(descriptor.IDOf(info), true); swept {
		return
	}
	fd, err := descriptor.Reopen(e.Dir, unix.O_RDONLY)
	if err != nil {
		return
	}
	dir := os.NewFile(uintptr(fd), e.Path)
	defer dir.Close()
	for range maxSwept / descriptor.NameBatch {
		names, err := dir.Readdirnames(descriptor.NameBatch)
		for _, name := range names {
			if staged.MatchString(name) {
				removeAbandoned(e.Dir, name)
			}
		}
		if err != nil {
			return
		}
	}
}

// maxSwept is how many names of a directory are checked.
const maxSwept = 1 << 20

// staged matches the results of tempName. It is never changed.
var staged = regexp.MustCompile(`^\.fettle-[A-Z2-7]{26}$`)

// removeAbandoned removes a staged file unless it is locked, by the process that is writing it.
func removeAbandoned(dir int, name string) {
	fd, err := descriptor.OpenName(dir, name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	info, err := descriptor.Stat(fd)
	if err == nil && info.IsRegular() && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = unix.Unlinkat(dir, name, 0)
	}
}

// create makes an empty file with a temporary name. Its lock, held until the descriptor is closed,
// keeps other processes from sweeping it. If one swept it before it was locked, create tries again
// under another name.
func (e Entry) create() (temp string, fd int, err error) {
	for range descriptor.MaxRetries {
		temp = tempName()
		fd, err = unix.Openat(e.Dir, temp, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return "", -1, err
		}
		// A file system without locks gives none to a sweep either.
		_ = unix.Flock(fd, unix.LOCK_SH)
		info, err := descriptor.Stat(fd)
		if err == nil && info.Nlink > 0 {
			return temp, fd, nil
		}
		if err = errors.Join(err, unix.Close(fd)); err != nil {
			return "", -1, err
		}
	}
	return "", -1, unix.EAGAIN
}

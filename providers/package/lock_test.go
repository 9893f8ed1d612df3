package pkg_test

import (
	"io"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// lockFile takes the kind of lock that dpkg and apt take, and that of debconf, for this
// process.
func lockFile(t *testing.T, f *os.File) {
	t.Helper()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock); err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

// holder returns the tools' message about the process that holds the lock.
func (m machine) holder() string { return strconv.Itoa(os.Getpid()) }

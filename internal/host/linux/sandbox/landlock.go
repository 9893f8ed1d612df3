package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scopedVersion is the version of Landlock that separates abstract Unix sockets.
const scopedVersion = 6

// restrictWrites keeps the calling thread, and what it starts, from opening files for writing outside the writable
// directories: a named pipe needs no writable file system. It also keeps them from connecting to abstract Unix
// sockets outside the sandbox. It does as much of that as the kernel can.
func restrictWrites() error {
	version, err := ruleset(nil, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot ask for the version of Landlock: %w", err)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_WRITE_FILE}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if version >= scopedVersion {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, unsafe.Offsetof(attr.Quiet_access_fs)
	}
	rules, err := ruleset(&attr, size, 0)
	if err != nil {
		return fmt.Errorf("cannot create a ruleset of Landlock: %w", err)
	}
	defer func() { _ = unix.Close(rules) }()
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev"} {
		if err := allowWrites(rules, dir); err != nil {
			return fmt.Errorf("cannot allow writing to %s: %w", dir, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return fmt.Errorf("cannot restrict writing: %w", errno)
	}
	return nil
}

func ruleset(attr *unix.LandlockRulesetAttr, size, flags uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), size, flags)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// allowWrites adds a directory, if it exists, to a ruleset.
func allowWrites(rules int, dir string) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	attr := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_WRITE_FILE, Parent_fd: int32(fd)} //nolint:gosec // descriptors are small
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

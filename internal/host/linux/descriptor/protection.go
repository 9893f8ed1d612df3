package descriptor

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Protection returns why not even root can change an open file; "" if root can. Only some file systems have attributes; see chattr(1).
func Protection(fd int) (string, error) {
	var stx unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC, 0, &stx); err != nil {
		return "", err
	}
	if why := ProtectionOf(&stx); why != "" {
		return why, nil
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return "", err
	}
	if fs.Flags&unix.ST_RDONLY != 0 {
		return "is on a read-only file system: mount that read-write", nil
	}
	return "", nil
}

// ProtectionOf is Protection by the attributes that statx returned, without the file system.
func ProtectionOf(stx *unix.Statx_t) string {
	switch {
	case stx.Attributes&unix.STATX_ATTR_IMMUTABLE != 0:
		return "is immutable: change that with chattr -i"
	case stx.Attributes&unix.STATX_ATTR_APPEND != 0:
		return "is append-only: change that with chattr -a"
	}
	return ""
}

// OnKernelFS reports whether an open file is in a file system whose files only the kernel makes and removes. Some let others make
// directories.
func OnKernelFS(fd int) (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return false, err
	}
	types := []int64{
		unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC,
		unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
	}
	return slices.Contains(types, int64(fs.Type)), nil //nolint:unconvert // narrower on other architectures
}

package descriptor

import "golang.org/x/sys/unix"

// Protection returns why not even root can change an open file; "" if root can. Only some file systems have attributes; see chattr(1).
func Protection(fd int) (string, error) {
	var stx unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC, 0, &stx); err != nil {
		return "", err
	}
	switch {
	case stx.Attributes&unix.STATX_ATTR_IMMUTABLE != 0:
		return "is immutable: change that with chattr -i", nil
	case stx.Attributes&unix.STATX_ATTR_APPEND != 0:
		return "is append-only: change that with chattr -a", nil
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

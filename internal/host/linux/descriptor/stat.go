package descriptor

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// An ID identifies a file whatever path leads to it. The number of a deleted file may be reused.
type ID struct{ Dev, Ino uint64 }

// IDOf returns the ID of a file.
func IDOf(info host.FileInfo) ID { return ID{info.Dev, info.Ino} }

// Stat describes an open file.
func Stat(fd int) (host.FileInfo, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return host.FileInfo{}, err
	}
	return fileInfo(&st), nil
}

// Lstat describes the file with a name in a directory. The error is unix.ENOENT if the file is missing, and another one for a mount point.
func Lstat(dir int, name string) (info host.FileInfo, err error) {
	fd, err := OpenName(dir, name, unix.O_PATH)
	if err != nil {
		return info, err
	}
	info, err = Stat(fd)
	return info, errors.Join(err, unix.Close(fd))
}

func fileInfo(st *unix.Stat_t) host.FileInfo {
	return host.FileInfo{
		Type:       fileType(st.Mode),
		Mode:       st.Mode & 0o7777,
		UID:        int(st.Uid),
		GID:        int(st.Gid),
		Size:       st.Size,
		ModTime:    time.Unix(st.Mtim.Unix()),
		ChangeTime: time.Unix(st.Ctim.Unix()),
		AccessTime: time.Unix(st.Atim.Unix()),
		Dev:        st.Dev,
		Ino:        st.Ino,
		Nlink:      uint64(st.Nlink), // 32 bits wide on arm64
	}
}

func fileType(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		return fs.ModeDevice
	default:
		return fs.ModeIrregular
	}
}

func typeName(t fs.FileMode) string {
	switch t {
	case 0:
		return "regular file"
	case fs.ModeDir:
		return "directory"
	case fs.ModeSymlink:
		return "symlink"
	case fs.ModeNamedPipe:
		return "fifo"
	case fs.ModeSocket:
		return "socket"
	default:
		return "device"
	}
}

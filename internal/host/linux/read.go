package linux

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// Open implements [host.Reader].
func (h *Host) Open(path string) (io.ReadCloser, error) {
	f, err := h.openRegular(path)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return f, nil
}

// ReadFile implements [host.Reader].
func (h *Host) ReadFile(path string) ([]byte, error) {
	f, err := h.openRegular(path)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	data, err := readBounded(f, host.MaxReadFile)
	return data, pathError("read", path, errors.Join(err, f.Close()))
}

func (h *Host) openRegular(path string) (*stream, error) {
	n, err := h.look(path, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(n.fd)
	return n.open()
}

func readBounded(f *stream, limit int64) ([]byte, error) {
	if f.size > limit {
		return nil, tooLarge(limit)
	}
	// Files of /proc say that they are empty: the size is only a first guess.
	data := make([]byte, 0, max(f.size+1, 512))
	for int64(len(data)) <= limit {
		n, err := f.read(data[len(data):cap(data)])
		switch {
		case err != nil:
			return nil, err
		case n == 0:
			return data, nil
		}
		data = data[:len(data)+n]
		if len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
	}
	return nil, tooLarge(limit)
}

func tooLarge(limit int64) error {
	return fmt.Errorf("is larger than %d bytes: stream it instead", limit)
}

// Stat implements [host.Reader].
func (h *Host) Stat(path string) (host.FileInfo, error) {
	info, err := h.stat(path, 0)
	return info, pathError("stat", path, err)
}

// Lstat implements [host.Reader].
func (h *Host) Lstat(path string) (host.FileInfo, error) {
	info, err := h.stat(path, unix.O_NOFOLLOW)
	return info, pathError("lstat", path, err)
}

func (h *Host) stat(path string, flags uint64) (host.FileInfo, error) {
	n, err := h.look(path, flags)
	if err != nil {
		return host.FileInfo{}, err
	}
	return n.info, n.Close()
}

func fstat(fd int) (host.FileInfo, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return host.FileInfo{}, err
	}
	return fileInfo(&st), nil
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

// ReadDir implements [host.Reader].
func (h *Host) ReadDir(path string) ([]string, error) {
	fd, err := h.openat(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	names, err := closingNames(os.NewFile(uintptr(fd), path))
	return names, pathError("read", path, err)
}

// nameBatch is how many names are read at once.
const nameBatch = 4096

// closingNames lists an open directory, sorted, and closes it.
func closingNames(dir *os.File) (names []string, err error) {
	size := 0
	for err == nil {
		var batch []string
		batch, err = dir.Readdirnames(nameBatch)
		names = append(names, batch...)
		if size += host.SizeOf(batch); size > host.MaxNames {
			err = host.ErrManyNames
		}
	}
	if err = errors.Join(ignoreEOF(err), dir.Close()); err != nil {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// Readlink implements [host.Reader].
func (h *Host) Readlink(path string) (string, error) {
	fd, err := h.openat(path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", pathError("readlink", path, missing(err))
	}
	defer unix.Close(fd)
	text, err := readlink(fd)
	return text, pathError("readlink", path, err)
}

func readlink(fd int) (string, error) {
	info, err := fstat(fd)
	if err != nil {
		return "", err
	}
	if !info.IsSymlink() {
		return "", fmt.Errorf("is a %s: %w", typeNameOrFile(info), unix.EINVAL)
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func typeNameOrFile(info host.FileInfo) string {
	if info.IsRegular() {
		return "regular file, not a symlink"
	}
	return typeName(info.Type) + ", not a symlink"
}

// LookPath implements [host.Reader].
func (h *Host) LookPath(name string) (string, error) {
	if strings.HasPrefix(name, "/") {
		if err := h.executable(name); err != nil {
			return "", err
		}
		return name, nil
	}
	if name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("cannot find command %q: give a bare name or an absolute path", name)
	}
	for dir := range strings.SplitSeq(host.SearchPath, ":") {
		file := path.Join(dir, name)
		if h.executable(file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("cannot find command %q in %s: %w", name, host.SearchPath, fs.ErrNotExist)
}

// executable says why a file is not one that root could run; nil when it is.
func (h *Host) executable(path string) error {
	info, err := h.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot find command: %w", err)
	}
	if !info.IsRegular() || info.Mode&0o111 == 0 {
		return fmt.Errorf("cannot run %s: not an executable file: %w", path, fs.ErrPermission)
	}
	return nil
}

package linux

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/resolve"
)

// Open implements [host.Reader].
func (h *Host) Open(path string) (io.ReadCloser, error) {
	s, err := h.stream(path)
	if err != nil {
		return nil, descriptor.PathError("open", path, err)
	}
	return s, nil
}

// ReadFile implements [host.Reader].
func (h *Host) ReadFile(path string) ([]byte, error) {
	s, err := h.stream(path)
	if err != nil {
		return nil, descriptor.PathError("open", path, err)
	}
	data, err := s.ReadAll(host.MaxReadFile)
	return data, descriptor.PathError("read", path, errors.Join(err, s.Close()))
}

func (h *Host) stream(path string) (*descriptor.Stream, error) {
	f, err := h.root.Look(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return descriptor.OpenStream(f.FD, f.Path, f.Info, h.patience)
}

// Stat implements [host.Reader].
func (h *Host) Stat(path string) (host.FileInfo, error) {
	info, err := h.stat(path, 0)
	return info, descriptor.PathError("stat", path, err)
}

// Lstat implements [host.Reader].
func (h *Host) Lstat(path string) (host.FileInfo, error) {
	info, err := h.stat(path, unix.O_NOFOLLOW)
	return info, descriptor.PathError("lstat", path, err)
}

func (h *Host) stat(path string, flags uint64) (host.FileInfo, error) {
	f, err := h.root.Look(path, flags)
	if err != nil {
		return host.FileInfo{}, err
	}
	return f.Info, f.Close()
}

// ReadDir implements [host.Reader].
func (h *Host) ReadDir(path string) ([]string, error) {
	fd, err := h.root.Open(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, descriptor.PathError("open", path, err)
	}
	names, err := descriptor.Names(fd, path)
	return names, descriptor.PathError("read", path, err)
}

// OpenDir opens a directory to enter it.
func (h *Host) OpenDir(path string) (*os.File, error) {
	fd, err := h.root.Open(path, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, descriptor.PathError("chdir", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Readlink implements [host.Reader].
func (h *Host) Readlink(path string) (string, error) {
	fd, err := h.root.Open(path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", descriptor.PathError("readlink", path, descriptor.Missing(err))
	}
	defer unix.Close(fd)
	text, err := descriptor.Readlink(fd)
	return text, descriptor.PathError("readlink", path, err)
}

// Mounted implements [host.Reader].
func (h *Host) Mounted(path string) (bool, error) {
	if resolve.TrimSlashes(path) == "/" {
		return true, nil
	}
	e, err := h.entry(path)
	if err != nil {
		return false, descriptor.PathError("look for mount", path, descriptor.Ignore(err, unix.ENOENT, unix.ENOTDIR))
	}
	defer e.Close()
	mounted, err := e.Mounted()
	return mounted, descriptor.PathError("look for mount", path, err)
}

// LookPath implements [host.Reader].
func (h *Host) LookPath(name string) (string, error) {
	if strings.HasPrefix(name, "/") {
		if err := h.requireExecutable(name); err != nil {
			return "", err
		}
		return name, nil
	}
	if name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("cannot find command %q: give a bare name or an absolute path", name)
	}
	for dir := range strings.SplitSeq(host.SearchPath, ":") {
		file := path.Join(dir, name)
		if h.requireExecutable(file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("cannot find command %q in %s: %w", name, host.SearchPath, fs.ErrNotExist)
}

// requireExecutable returns an error unless root could run the file.
func (h *Host) requireExecutable(path string) error {
	info, err := h.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot find command: %w", err)
	}
	if !info.IsRegular() || info.Mode&0o111 == 0 {
		return fmt.Errorf("cannot run %s: not an executable file: %w", path, fs.ErrPermission)
	}
	return nil
}

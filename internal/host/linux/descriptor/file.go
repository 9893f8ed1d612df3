package descriptor

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// A File is one file of any type, held by an O_PATH descriptor: whatever happens to its path,
// it stays that file.
type File struct {
	FD   int
	Path string        // by which it was opened, for messages
	Info host.FileInfo // when it was opened
}

// NewFile takes ownership of the descriptor, also when it fails.
func NewFile(fd int, path string) (*File, error) {
	info, err := Stat(fd)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &File{fd, path, info}, nil
}

// Close closes the descriptor.
func (f *File) Close() error { return unix.Close(f.FD) }

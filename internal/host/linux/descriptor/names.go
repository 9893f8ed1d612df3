package descriptor

import (
	"errors"
	"io"
	"os"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
)

// NameBatch is how many names of a directory are read at once.
const NameBatch = 4096

// Names lists a directory that is open for reading, sorted, and closes it. It is host.ErrManyNames if the names take
// too much memory.
func Names(fd int, path string) (names []string, err error) {
	file := os.NewFile(uintptr(fd), path)
	size := 0
	for err == nil {
		var batch []string
		batch, err = file.Readdirnames(NameBatch)
		names = append(names, batch...)
		if size += host.SizeOfNames(batch); size > host.MaxNames {
			err = host.ErrManyNames
		}
	}
	if err = errors.Join(IgnoreEOF(err), file.Close()); err != nil {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// IgnoreEOF returns err unless it is io.EOF.
func IgnoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

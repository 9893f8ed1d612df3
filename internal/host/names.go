package host

import "fmt"

// MaxNames limits the memory, in bytes, for the names of one directory, or of all directories on the path of a walk:
// a user may fill a directory with millions of files.
const MaxNames = 64 << 20

// Names counts the names that a walk holds. The zero value is ready. It is not safe for concurrent use.
type Names struct{ size int }

// Hold counts names that are in memory until letGo is called. Beyond MaxNames it is an error and counts nothing.
func (n *Names) Hold(names []string) (letGo func(), err error) {
	size := SizeOf(names)
	if n.size+size > MaxNames {
		return nil, ErrManyNames
	}
	n.size += size
	return func() { n.size -= size }, nil
}

// SizeOf is how much memory, in bytes, names take.
func SizeOf(names []string) int {
	const header = 16
	size := header * len(names)
	for _, name := range names {
		size += len(name)
	}
	return size
}

// ErrManyNames means that a directory has too many names.
var ErrManyNames = fmt.Errorf("its names and those of the directories above exceed %d MiB: remove files by hand, or exclude it", MaxNames>>20)

package host

import "fmt"

// MaxNames limits the memory, in bytes, for the names of one directory, or of all directories on the path of a walk:
// a user may fill a directory with millions of files.
const MaxNames = 64 << 20

// A NameBudget counts the names that a walk has in memory. The zero value is ready. It is not safe for concurrent use.
type NameBudget struct{ size int }

// Reserve counts names that are in memory until release is called. Beyond MaxNames it returns ErrManyNames and counts nothing.
func (n *NameBudget) Reserve(names []string) (release func(), err error) {
	size := SizeOfNames(names)
	if n.size+size > MaxNames {
		return nil, ErrManyNames
	}
	n.size += size
	return func() { n.size -= size }, nil
}

// SizeOfNames returns how much memory, in bytes, names take.
func SizeOfNames(names []string) int {
	const header = 16
	size := header * len(names)
	for _, name := range names {
		size += len(name)
	}
	return size
}

// ErrManyNames means that a directory has too many names.
var ErrManyNames = fmt.Errorf("its names and those of the directories above exceed %d MiB: remove files by hand, or exclude it", MaxNames>>20)

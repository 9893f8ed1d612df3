package host

import "fmt"

// MaxNames is the memory, in bytes, that the names of one directory, or of all directories on the way of a walk, may
// take: a user may fill their directories with millions.
const MaxNames = 64 << 20

// Names counts the names that a walk holds. The zero value is ready. It is not safe for concurrent use.
type Names struct{ size int }

// Hold counts names that are in memory until they are let go. Beyond MaxNames it is an error, and nothing is counted.
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

// ErrManyNames means that a directory has more names than are read.
var ErrManyNames = fmt.Errorf("the names in it and in the directories above take more than %d MiB: remove files by hand, or leave it out", MaxNames>>20)

package entry

import (
	"io/fs"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Kind is the kind of entry at a path, as the present value of ensure.
type Kind string

// The kinds of entries. A resource can ask for Absent, Regular, Directory and Link.
const (
	Absent    Kind = "absent"
	Regular   Kind = "file"
	Directory Kind = "directory"
	Link      Kind = "link"
	FIFO      Kind = "fifo"
	Socket    Kind = "socket"
	Device    Kind = "device"
)

// KindOf returns the kind of an existing entry.
func KindOf(info host.FileInfo) Kind {
	switch info.Type {
	case 0:
		return Regular
	case fs.ModeDir:
		return Directory
	case fs.ModeSymlink:
		return Link
	case fs.ModeNamedPipe:
		return FIFO
	case fs.ModeSocket:
		return Socket
	default:
		return Device
	}
}

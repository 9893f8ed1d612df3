// Package archive packs the files of a program into a layer of an OCI artifact, and unpacks layers that anybody may have
// written.
package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// Limits of an unpacked artifact.
const (
	MaxBytes   = 256 << 20 // of all files together
	MaxEntries = 10_000    // in all layers together
	maxName    = 1024      // bytes
	maxDepth   = 32        // directories
	// maxStream is the size of a layer that is not compressed: files and what describes them.
	maxStream = MaxBytes + MaxEntries*(4<<10)
)

// Kinds of entries.
const (
	Directory = "Directory"
	File      = "File"
	Symlink   = "Symlink"
)

// An Entry is a file, directory or symlink of an unpacked artifact.
type Entry struct {
	Name       string `json:"name"` // relative to the directory of the program, and clean
	Kind       string `json:"kind"`
	Executable bool   `json:"executable,omitempty"` // of a File
	Size       int64  `json:"size,omitempty"`       // of a File, in bytes
	SHA256     string `json:"sha256,omitempty"`     // of a File, in hexadecimal
	Target     string `json:"target,omitempty"`     // of a Symlink: a relative path to another entry

	layer int
}

// A Sink stores what is unpacked. All names are relative, clean, and below directories that were made before. No symlink is made
// before everything else.
type Sink interface {
	Mkdir(name string) error
	WriteFile(ctx context.Context, name string, executable bool, content io.Reader) (sum [sha256.Size]byte, err error)
	Symlink(target, name string) error
	// Remove removes an entry with everything below it.
	Remove(name string) error
}

var (
	errTooLarge = fmt.Errorf("its files exceed %d MiB", MaxBytes>>20)
	errTooMany  = fmt.Errorf("it has more than %d files and directories", MaxEntries)
	errStream   = errors.New("a layer is much larger than its files")
)

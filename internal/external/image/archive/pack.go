package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// A Source is a file to be packed.
type Source struct {
	Name       string // relative, and clean
	Executable bool
	Content    []byte
}

// Pack writes files as a tar archive, compressed with gzip. The same files give the same bytes. What Pack accepts can be
// unpacked.
func Pack(to io.Writer, files []Source) error {
	if len(files) > MaxEntries {
		return errTooMany
	}
	compressed := gzip.NewWriter(to)
	archive := tar.NewWriter(compressed)
	left := MaxBytes
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b Source) int { return cmp.Compare(a.Name, b.Name) }) {
		if left -= len(f.Content); left < 0 {
			return errTooLarge
		}
		if err := pack(archive, f); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

func pack(archive *tar.Writer, f Source) error {
	if _, err := cleanName(f.Name); err != nil {
		return err
	}
	if strings.HasPrefix(path.Base(f.Name), whiteout) {
		return errors.New("names that begin with " + whiteout + " remove files from images: use another name")
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(f.Content)), Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if f.Executable {
		h.Mode = 0o755
	}
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	_, err := archive.Write(f.Content)
	return err
}

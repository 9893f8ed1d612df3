package archive

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// An Unpacker unpacks the layers of one artifact, the lowest first. It is not safe for concurrent use.
type Unpacker struct {
	to      Sink
	entries map[string]*Entry
	left    int64 // bytes of files
	seen    int   // entries of all layers
	layer   int
}

// NewUnpacker returns an unpacker into an empty sink.
func NewUnpacker(to Sink) *Unpacker {
	return &Unpacker{to: to, entries: map[string]*Entry{}, left: MaxBytes}
}

// Layer unpacks a tar archive, which may be compressed with gzip, and reads it to its end.
func (u *Unpacker) Layer(ctx context.Context, r io.Reader) error {
	u.layer++
	stream, err := decompress(r)
	if err != nil {
		return err
	}
	bounded := &boundedReader{from: stream, left: maxStream}
	archive := tar.NewReader(bounded)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = u.entry(ctx, header, archive)
		}
		if err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, bounded) // padding
	return err
}

// decompress returns the content of gzip, or the reader itself.
func decompress(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(buffered)
	}
	return buffered, nil
}

// A boundedReader fails beyond a number of bytes.
type boundedReader struct {
	from io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errStream
	}
	return n, err
}

// Names in layers that remove entries of lower ones.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

func (u *Unpacker) entry(ctx context.Context, h *tar.Header, content io.Reader) error {
	if u.seen++; u.seen > MaxEntries {
		return errTooMany
	}
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := cleanName(h.Name)
	if err != nil || name == "." {
		return err
	}
	dir, base := path.Split(name)
	switch dir = path.Clean(dir); {
	case base == opaque:
		return u.removeLower(dir)
	case strings.HasPrefix(base, whiteout):
		return u.remove(path.Join(dir, strings.TrimPrefix(base, whiteout)))
	}
	if err := u.directory(dir); err != nil {
		return err
	}
	return u.add(ctx, name, h, content)
}

// cleanName returns the relative path of an entry, "." for the directory of the program itself.
func cleanName(name string) (string, error) {
	clean := path.Clean(name)
	switch {
	case path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../"):
		return "", fmt.Errorf("the name %.80q is outside of the program's directory", name)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }):
		return "", fmt.Errorf("the name %.80q has control characters or is not UTF-8", name)
	case len(name) > maxName || strings.Count(clean, "/") >= maxDepth:
		return "", fmt.Errorf("the name %.80q... is longer than %d bytes or below more than %d directories", name, maxName, maxDepth)
	}
	return clean, nil
}

// directory makes a directory and its parents, unless they exist.
func (u *Unpacker) directory(name string) error {
	if name == "." {
		return nil
	}
	if e := u.entries[name]; e != nil {
		if e.Kind != Directory {
			return fmt.Errorf("%q is the parent of an entry, but not a directory", name)
		}
		return nil
	}
	if err := u.directory(path.Dir(name)); err != nil {
		return err
	}
	if err := u.put(&Entry{Name: name, Kind: Directory}); err != nil {
		return err
	}
	return u.to.Mkdir(name)
}

// put adds an entry. Parents have no headers of their own, so there can be more entries than headers.
func (u *Unpacker) put(e *Entry) error {
	if len(u.entries) >= MaxEntries {
		return errTooMany
	}
	e.layer = u.layer
	u.entries[e.Name] = e
	return nil
}

func (u *Unpacker) add(ctx context.Context, name string, h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeDir {
		if e := u.entries[name]; e != nil && e.Kind != Directory {
			if err := u.remove(name); err != nil {
				return err
			}
		}
		return u.directory(name)
	}
	if err := u.remove(name); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return u.file(ctx, name, h, content)
	case tar.TypeSymlink:
		return u.put(&Entry{Name: name, Kind: Symlink, Target: h.Linkname})
	case tar.TypeLink:
		return fmt.Errorf("%q is a hard link, which is not supported: use a copy or a symlink", name)
	}
	return fmt.Errorf("%q is not a file, a directory or a symlink, but of the type %q", name, h.Typeflag)
}

func (u *Unpacker) file(ctx context.Context, name string, h *tar.Header, content io.Reader) error {
	if u.left -= h.Size; h.Size < 0 || u.left < 0 {
		return errTooLarge
	}
	const executable = 0o111
	e := &Entry{Name: name, Kind: File, Size: h.Size, Executable: h.Mode&executable != 0}
	if err := u.put(e); err != nil {
		return err
	}
	sum, err := u.to.WriteFile(ctx, name, e.Executable, content)
	e.SHA256 = hex.EncodeToString(sum[:])
	return err
}

// remove removes an entry, with everything below it, if there is one.
func (u *Unpacker) remove(name string) error {
	e := u.entries[name]
	if e == nil {
		return nil
	}
	maps.DeleteFunc(u.entries, func(other string, _ *Entry) bool { return other == name || strings.HasPrefix(other, name+"/") })
	if e.Kind == Symlink { // it is not made yet
		return nil
	}
	return u.to.Remove(name)
}

// removeLower removes what lower layers have in a directory.
func (u *Unpacker) removeLower(dir string) error {
	for _, name := range slices.Sorted(maps.Keys(u.entries)) {
		if e := u.entries[name]; e != nil && e.layer < u.layer && path.Dir(name) == dir {
			if err := u.remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish makes the symlinks and returns all entries, sorted by name.
func (u *Unpacker) Finish() ([]Entry, error) {
	all := slices.SortedFunc(maps.Values(u.entries), func(a, b *Entry) int { return cmp.Compare(a.Name, b.Name) })
	entries := make([]Entry, len(all))
	for i, e := range all {
		entries[i] = *e
		if e.Kind != Symlink {
			continue
		}
		if err := u.checkLink(e); err != nil {
			return nil, err
		}
		if err := u.to.Symlink(e.Target, e.Name); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

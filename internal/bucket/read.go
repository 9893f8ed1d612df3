package bucket

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// An Entry is a stored content.
type Entry struct {
	Sum   string    // SHA-256 in hexadecimal
	Size  int64     // in bytes
	Saved time.Time // when it was last saved
	Paths []string  // where it was found, the latest last
}

// List returns all entries, the oldest first. A bucket that does not exist is empty.
func (b *Bucket) List() ([]Entry, error) {
	var all []Entry
	firsts, err := names(b.host, b.dir)
	if err != nil {
		return nil, err
	}
	for _, first := range firsts {
		sums, err := names(b.host, path.Join(b.dir, first))
		if err != nil {
			return nil, err
		}
		for _, sum := range sums {
			if e, err := b.entry(sum); err == nil { // incomplete, or not part of the bucket
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b Entry) int {
		if c := a.Saved.Compare(b.Saved); c != 0 {
			return c
		}
		return strings.Compare(a.Sum, b.Sum)
	})
	return all, nil
}

func names(h host.Reader, dir string) ([]string, error) {
	list, err := h.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

func (b *Bucket) entry(sum string) (Entry, error) {
	if len(sum) != 2*sha256.Size {
		return Entry{}, fmt.Errorf("invalid sum %q", sum)
	}
	info, err := b.host.Lstat(path.Join(b.dirOf(sum), contentsName))
	if err != nil {
		return Entry{}, err
	}
	noted, err := b.host.Lstat(path.Join(b.dirOf(sum), pathsName))
	if err != nil {
		return Entry{}, err
	}
	paths, err := b.readPaths(sum)
	return Entry{sum, info.Size, noted.ModTime, paths}, err
}

func (b *Bucket) readPaths(sum string) ([]string, error) {
	text, err := b.host.ReadFile(path.Join(b.dirOf(sum), pathsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for line := range strings.Lines(string(text)) {
		if p, bad := strconv.Unquote(strings.TrimSuffix(line, "\n")); bad == nil {
			paths = append(paths, p)
		}
	}
	return paths, err
}

// minPrefix is the minimum length of a prefix of a sum, in digits, for Find.
const minPrefix = 4

// Find returns the only entry whose sum has this prefix.
func (b *Bucket) Find(prefix string) (Entry, error) {
	if len(prefix) < minPrefix {
		return Entry{}, fmt.Errorf("sum %q is too short: give at least %d digits", prefix, minPrefix)
	}
	all, err := b.List()
	if err != nil {
		return Entry{}, err
	}
	all = slices.DeleteFunc(all, func(e Entry) bool { return !strings.HasPrefix(e.Sum, prefix) })
	switch len(all) {
	case 0:
		return Entry{}, fmt.Errorf("the bucket has no content whose sum begins with %q: see fettle bucket list", prefix)
	case 1:
		return all[0], nil
	}
	return Entry{}, fmt.Errorf("the bucket has %d contents whose sums begin with %q: give more digits", len(all), prefix)
}

// Last returns the entry that was saved last from a path. It is an error if that is not known, because equal content of another
// path was saved since.
func (b *Bucket) Last(path string) (Entry, error) {
	all, err := b.List()
	if err != nil {
		return Entry{}, err
	}
	return lastOf(all, path)
}

// lastOf returns the last entry of a path. Saved is when the last path of an entry was found; its other paths were found at some
// time before.
func lastOf(all []Entry, path string) (Entry, error) {
	var found []Entry // the latest first
	for _, e := range slices.Backward(all) {
		if slices.Contains(e.Paths, path) {
			found = append(found, e)
		}
	}
	switch {
	case len(found) == 0:
		return Entry{}, fmt.Errorf("the bucket has no content of %s: see fettle bucket list", path)
	case len(found) == 1, found[0].Paths[len(found[0].Paths)-1] == path && found[0].Saved.After(found[1].Saved):
		return found[0], nil
	}
	return Entry{}, fmt.Errorf("the bucket does not know which content of %[1]s is the last one: choose a sum from fettle bucket list %[1]s", path)
}

// Open reads the content of a full sum. If the content is damaged, the reader returns an error
// instead of io.EOF. The caller closes it.
func (b *Bucket) Open(sum string) (io.ReadCloser, error) {
	f, err := b.host.Open(path.Join(b.dirOf(sum), contentsName))
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{&verified{r: f, hash: sha256.New(), sum: sum, wrong: fmt.Errorf("the copy of %s in the bucket is damaged", sum)}, f}, nil
}

// Verify returns an error if the content of a full sum is unreadable or damaged.
func (b *Bucket) Verify(sum string) error {
	f, err := b.Open(sum)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// A verified reader returns an error instead of io.EOF if the data has another sum.
type verified struct {
	r     io.Reader
	hash  hash.Hash
	sum   string
	wrong error
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(v.hash.Sum(nil)) != v.sum {
		err = v.wrong
	}
	return n, err
}

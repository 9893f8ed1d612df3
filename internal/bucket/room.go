package bucket

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// limitForm excludes the exponents and sub-byte suffixes of quantities: parsing a large exponent
// takes minutes.
var limitForm = regexp.MustCompile(`^-?[0-9]{1,19}(\.[0-9]{1,9})?([kMGTPE]|[KMGTPE]i)?$`)

// ParseLimit parses a limit such as 500Mi and returns it in bytes.
func ParseLimit(text string) (int64, error) {
	var q resource.Quantity
	err := errors.New("unexpected format")
	if limitForm.MatchString(text) {
		q, err = resource.ParseQuantity(text)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("invalid number of bytes %q: write it as 500Mi", text)
	case q.Sign() < 0:
		return 0, fmt.Errorf("%q is negative: use 0 for no limit", text)
	case q.CmpInt64(math.MaxInt64) > 0:
		return 0, fmt.Errorf("%q is too large: use 0 for no limit", text)
	}
	return q.Value(), nil
}

// Fits returns an error if a content of this size, in bytes, is too large for the bucket.
func (b *Bucket) Fits(file string, size int64) error {
	if need := size + overhead; b.limit > 0 && need > b.limit {
		return fmt.Errorf("%s needs %d bytes in the bucket, but its limit is %d: raise the limit, or set backup: None", file, need, b.limit)
	}
	return nil
}

// makeRoom removes the contents that were replaced longest ago until a new content fits, and
// reserves its space.
func (b *Bucket) makeRoom(file string, size int64) error {
	need := size + overhead
	switch {
	case b.limit <= 0:
		return nil
	case need > b.limit:
		return b.Fits(file, size)
	case time.Since(b.weighed) < fresh && b.weight+need <= b.limit:
		b.weight += need
		return nil
	}
	all, err := b.weigh()
	if err != nil {
		return err
	}
	for len(all) > 0 && b.weight+need > b.limit {
		if err := b.host.RemoveAll(all[0].dir); err != nil {
			return fmt.Errorf("cannot make room in the bucket: %w", err)
		}
		b.weight -= all[0].weight
		all = all[1:]
	}
	b.weight += need
	return nil
}

// overhead is the approximate space, in bytes, that a content takes besides its own size.
const overhead = 4096

// fresh is how long other processes are assumed not to have added anything since the bucket was
// weighed.
const fresh = time.Minute

// A load is the data stored for one sum, complete or not.
type load struct {
	dir    string
	weight int64
	saved  time.Time // zero if unknown, because the content is incomplete
}

// weigh lists all loads, the oldest first.
func (b *Bucket) weigh() ([]load, error) {
	b.weight, b.weighed = 0, time.Now()
	firsts, err := names(b.host, b.dir)
	var all []load
	for _, first := range firsts {
		sums, listErr := names(b.host, path.Join(b.dir, first))
		err = errors.Join(err, listErr)
		for _, sum := range sums {
			if len(sum) != 2*sha256.Size || sum[:2] != first {
				continue // not part of the bucket
			}
			l, lookErr := b.load(sum)
			err = errors.Join(err, lookErr)
			all = append(all, l)
			b.weight += l.weight
		}
	}
	slices.SortFunc(all, func(x, y load) int { return cmp.Or(x.saved.Compare(y.saved), cmp.Compare(x.dir, y.dir)) })
	return all, err
}

func (b *Bucket) load(sum string) (l load, err error) {
	l = load{dir: b.dirOf(sum), weight: overhead}
	for _, name := range []string{contentsName, pathsName} {
		info, lookErr := b.host.Lstat(path.Join(l.dir, name))
		switch {
		case errors.Is(lookErr, fs.ErrNotExist):
		case lookErr != nil:
			err = errors.Join(err, lookErr)
		case name == contentsName:
			l.weight += info.Size
		default:
			l.saved = info.ModTime
		}
	}
	return l, err
}

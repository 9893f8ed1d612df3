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

// limitForm leaves out the exponents and the parts of a byte that a quantity may have: one
// with a large exponent takes minutes to read.
var limitForm = regexp.MustCompile(`^-?[0-9]{1,19}(\.[0-9]{1,9})?([kMGTPE]|[KMGTPE]i)?$`)

// ParseLimit reads a limit as people write it, 500Mi, in bytes.
func ParseLimit(text string) (int64, error) {
	var q resource.Quantity
	err := errors.New("it has another form")
	if limitForm.MatchString(text) {
		q, err = resource.ParseQuantity(text)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no number of bytes: write it as 500Mi", text)
	case q.Sign() < 0:
		return 0, fmt.Errorf("%q is negative: give 0 to keep all", text)
	case q.CmpInt64(math.MaxInt64) > 0:
		return 0, fmt.Errorf("%q is more than any disk has: give 0 to keep all", text)
	}
	return q.Value(), nil
}

// Fits returns an error if a content of some size is too large for the bucket.
func (b *Bucket) Fits(file string, size int64) error {
	if need := size + overhead; b.limit > 0 && need > b.limit {
		return fmt.Errorf("%s needs %d bytes in the bucket, which takes no more than %d: raise its limit, or set backup: None", file, need, b.limit)
	}
	return nil
}

// makeRoom throws away what was replaced longest ago until there is room for a content,
// and takes the room. A content is counted with the blocks that it begins and what is
// noted beside it.
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

// overhead is what a content takes in bytes beside itself, about.
const overhead = 4096

// fresh is how long nobody else is expected to have added to what was weighed.
const fresh = time.Minute

// A load is what is kept of one sum, whole or not.
type load struct {
	dir    string
	weight int64
	saved  time.Time // zero where nothing says so: it is not whole
}

// weigh lists all copies, the oldest first.
func (b *Bucket) weigh() ([]load, error) {
	b.weight, b.weighed = 0, time.Now()
	firsts, err := names(b.host, b.dir)
	var all []load
	for _, first := range firsts {
		sums, listErr := names(b.host, path.Join(b.dir, first))
		err = errors.Join(err, listErr)
		for _, sum := range sums {
			if len(sum) != 2*sha256.Size || sum[:2] != first {
				continue // not ours
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

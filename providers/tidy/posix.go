package tidy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// posix finds files by what every file system says of them.
type posix struct{ now func() time.Time }

func (posix) Name() string { return "posix" }

func (posix) Suits(resource.Facts, host.Reader) error { return nil }

func (posix) Read(_ context.Context, _ host.Reader, want Attributes) (Attributes, error) {
	if want.Path == "" {
		return want, errors.New("no host tells of a Tidy that is merely named: apply one with a path instead")
	}
	return want, nil
}

// Write is never called: a Tidy has no property that could be out of sync.
func (posix) Write(context.Context, host.Host, Attributes, Attributes, []resource.Change) error {
	return nil
}

// errEnough ends a walk of which nobody wants to know more.
var errEnough = errors.New("enough was seen")

// Generate makes a removal of each file that is due, a directory after what is in it.
func (p posix) Generate(_ context.Context, h host.Reader, want Attributes, c resource.Catalog) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		if ref, missing := c.Missing("File"); missing {
			yield(nil, fmt.Errorf("what %s manages is not known while it is withheld or invalid, so nothing is removed: mend it first", ref))
			return
		}
		least, err := leastSize(want)
		if err != nil {
			yield(nil, err)
			return
		}
		w := walk{h: h.LookStraight(), want: want, least: least, now: p.now(), managed: managed(want.Path, c), remove: func(path string) error {
			r, err := removal(path, want)
			if err == nil && !yield(r, nil) {
				err = errEnough
			}
			return err
		}}
		if _, err := w.tidy(want.Path, 0); err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// managed are the paths of the catalog's Files from a path down, and the directories on
// the way to them: neither goes.
func managed(top string, c resource.Catalog) map[string]bool {
	all := map[string]bool{}
	for name := range c.Names("File") {
		for p := name; path.IsAbs(p) && isBelow(p, top) && !all[p]; p = path.Dir(p) {
			all[p] = true
			if p == "/" {
				break
			}
		}
	}
	return all
}

func isBelow(p, top string) bool {
	return p == top || top == "/" || strings.HasPrefix(p, top+"/")
}

// A walk goes through what lies below a path. It has the names of the directories on its
// way in memory and nothing else, however many files there are.
type walk struct {
	h       host.Reader
	want    Attributes
	least   *int64 // size in bytes
	now     time.Time
	managed map[string]bool
	remove  func(path string) error
}

// tidy deals with a path and what is below it. It reports whether it goes.
func (w walk) tidy(p string, depth int) (goes bool, err error) {
	info, err := w.h.Lstat(p) // before what is below is looked at
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // it went away just now
	}
	if err != nil {
		return false, fmt.Errorf("cannot look at %s: %w", p, err)
	}
	if info.IsDir() {
		if empty, err := w.below(p, depth); !empty || err != nil {
			return false, err
		}
	}
	if w.managed[p] || !due(w.want, w.least, path.Base(p), info, w.now) {
		return false, nil
	}
	// What is mounted is of another file system: it stays, and so does its place.
	if mounted, err := w.h.Mounted(p); mounted || err != nil {
		return false, err
	}
	return true, w.remove(p)
}

// below deals with what is in a directory. It reports whether the directory is then empty.
// What can't be looked at keeps nothing else from going: its owner may have made it so.
func (w walk) below(dir string, depth int) (empty bool, err error) {
	names, err := w.names(dir, depth)
	if names == nil || err != nil {
		return false, err
	}
	if w.want.RecurseLimit != nil && depth >= int(*w.want.RecurseLimit) {
		return len(names) == 0, nil
	}
	empty = true
	for _, name := range names {
		goes, failed := w.tidy(path.Join(dir, name), depth+1)
		if errors.Is(failed, errEnough) {
			return false, failed
		}
		err = cmp.Or(err, failed)
		empty = empty && goes
	}
	return empty, err
}

// names are what is in a directory, nil where nobody is to look: without recurse, and in
// what is mounted below the path itself.
func (w walk) names(dir string, depth int) ([]string, error) {
	if !isTrue(w.want.Recurse) {
		return nil, nil
	}
	if depth > 0 {
		if mounted, err := w.h.Mounted(dir); mounted || err != nil {
			return nil, err
		}
	}
	names, err := w.h.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot look into %s: %w", dir, err)
	}
	return append([]string{}, names...), nil
}

package tidy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// posix finds files by the metadata that every file system has.
type posix struct{ now func() time.Time }

func (posix) Name() string { return "posix" }

func (posix) Suits(resource.Facts, host.Reader) error { return nil }

func (posix) Read(_ context.Context, _ resource.Reader, want Attributes) (Attributes, error) {
	if want.Path == "" {
		return want, errors.New("cannot look up a Tidy by its name: apply one with a path instead")
	}
	return want, nil
}

// Write is never called: a Tidy has no property that could be out of sync.
func (posix) Write(context.Context, resource.Writer, Attributes, Attributes, []resource.Change) error {
	return nil
}

// errStop ends a walk.
var errStop = errors.New("the walk was stopped")

// Generate implements [resource.Generator]: a removal for each file that is due, and for a directory
// after the files in it.
func (p posix) Generate(ctx context.Context, h resource.Reader, want Attributes, inventory resource.Inventory) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		if err := awaitFiles(h, want, inventory); err != nil {
			yield(nil, err)
			return
		}
		if isPlannedAway(h, want) {
			return
		}
		least, err := leastSize(want)
		if err != nil {
			yield(nil, err)
			return
		}
		w := walk{
			ended: ctx.Err, h: h, want: want, least: least, now: p.now(), names: new(host.NameBudget), managed: managed(want.Path, inventory),
			identities: sync.OnceValue(func() map[string]bool { return identities(h, inventory) }),
		}
		if err := w.all(yield); err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

// isPlannedAway reports whether the earlier resources of a plan remove the path, or a directory above it.
func isPlannedAway(h resource.Reader, want Attributes) bool {
	files := resource.PlannedNames(h, "File")
	return slices.ContainsFunc(above(want), func(p string) bool {
		there, planned := files[p]
		return planned && !there
	})
}

// managed returns the paths of the catalog's Files below a path, withheld or not, and the directories on the way to them.
// They are not removed.
func managed(top string, inventory resource.Inventory) map[string]bool {
	all := map[string]bool{}
	for name := range resource.Paths(inventory, "File") {
		for p := name; path.IsAbs(p) && host.IsBelow(p, top) && !all[p]; p = path.Dir(p) {
			all[p] = true
			if p == "/" {
				break
			}
		}
	}
	return all
}

// identities returns the identities of the catalog's Files, as other paths may lead to them.
func identities(h host.Reader, inventory resource.Inventory) map[string]bool {
	all := map[string]bool{}
	for name := range resource.Paths(inventory, "File") {
		if dir, err := h.Stat(path.Dir(name)); err == nil {
			all[host.Identity(dir, path.Base(name))] = true
		}
	}
	return all
}

// A walk goes through the files below a path. The path is opened once, and files are opened from
// there, through no symlink. It has the names of the directories on its way in memory and nothing
// else, however many files there are, and few of them open.
type walk struct {
	ended   func() error // why the walk has to end, or nil
	h       host.Reader
	want    Attributes
	least   *int64 // size in bytes
	now     time.Time
	managed map[string]bool
	// identities returns the identities of managed files; called before a file is removed.
	identities func() map[string]bool
	top        host.Handle
	remove     func(name string, was host.FileInfo) error
	names      *host.NameBudget
}

// all walks from the path itself, if it exists.
func (w walk) all(yield func(resource.Resource, error) bool) error {
	top, err := w.h.Lookup(w.want.Path, host.Links{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look at %s: %w", w.want.Path, err)
	}
	defer top.Close()
	tree := host.Tree{Path: w.want.Path, Top: top.Info()}
	w.top, w.remove = top, func(name string, was host.FileInfo) error {
		r, err := removal(place{tree, name, was}, w.want)
		if err == nil && !yield(r, nil) {
			err = errStop
		}
		return err
	}
	_, err = w.tidy(".", 0)
	return err
}

// path returns the path of a name relative to the top.
func (w walk) path(name string) string { return path.Join(w.want.Path, name) }

// A node is a file as it was before the files below it were removed.
type node struct {
	info    host.FileInfo
	mounted bool
	// names of its entries, nil if they are not tidied: without recurse, and in a mount below the
	// path itself.
	names []string
}

// look describes a file by its name relative to the top, and closes it again.
func (w walk) look(name string, depth int) (node, error) {
	if err := w.ended(); err != nil {
		return node{}, err
	}
	if name == "." {
		return w.describe(w.top, depth)
	}
	file, err := w.top.Child(name)
	if err != nil {
		return node{}, err
	}
	defer file.Close()
	return w.describe(file, depth)
}

func (w walk) describe(file host.Handle, depth int) (s node, err error) {
	s.info = file.Info()
	if s.mounted, err = file.Mounted(); err != nil {
		return s, err
	}
	if s.info.IsDir() && ptr.Deref(w.want.Recurse, false) && (depth == 0 || !s.mounted) {
		s.names, err = file.ReadDir()
		s.names = append([]string{}, s.names...)
	}
	return s, err
}

// tidy tidies a file and the files below it. It reports whether the file is removed.
func (w walk) tidy(name string, depth int) (removed bool, err error) {
	s, err := w.look(name, depth)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // it was removed a moment ago
	}
	if err != nil {
		return false, fmt.Errorf("cannot look at %s: %w", w.path(name), err)
	}
	if s.info.IsDir() {
		if empty, err := w.below(name, s.names, depth); !empty || err != nil {
			return false, err
		}
	}
	// A mount and its mount point stay.
	if s.mounted || !due(w.want, w.least, path.Base(w.path(name)), s.info, w.now) {
		return false, nil
	}
	if managed, err := w.isManaged(name); managed || err != nil {
		return false, err
	}
	return true, w.remove(name, s.info)
}

// isManaged reports whether a File manages a file, whatever path leads to it.
func (w walk) isManaged(name string) (bool, error) {
	if w.managed[w.path(name)] {
		return true, nil
	}
	all := w.identities()
	if name == "." {
		dir, err := w.h.Stat(path.Dir(w.want.Path))
		return err == nil && all[host.Identity(dir, path.Base(w.want.Path))], err
	}
	dir := w.top.Info()
	if in := path.Dir(name); in != "." {
		n, err := w.top.Child(in)
		if err != nil {
			return false, err
		}
		dir = n.Info()
		_ = n.Close()
	}
	return all[host.Identity(dir, path.Base(name))], nil
}

// below tidies the files in a directory. It reports whether the directory is then empty. A file that
// can't be looked at does not prevent others from being removed: its owner may have made it so.
func (w walk) below(dir string, names []string, depth int) (empty bool, err error) {
	if names == nil {
		return false, nil
	}
	if w.want.RecurseLimit != nil && depth >= int(*w.want.RecurseLimit) {
		return len(names) == 0, nil
	}
	release, err := w.names.Reserve(names)
	if err != nil {
		return false, fmt.Errorf("cannot look into %s: %w", w.path(dir), err)
	}
	defer release()
	empty = true
	for _, name := range names {
		removed, failed := w.tidy(path.Join(dir, name), depth+1)
		if errors.Is(failed, errStop) {
			return false, failed
		}
		err = cmp.Or(err, failed)
		empty = empty && removed
	}
	return empty, err
}

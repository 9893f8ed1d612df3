package file

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
)

// A walk goes through what lies below a File that recurses. It has the names of the
// directories on its way in memory and nothing else, however many files there are.
type walk struct {
	managed, source side
	want            Attributes
	own             claims
	// visit takes each child: a directory before what is in it, unless it is purged.
	// errEnough ends the walk.
	visit func(child) error
	names host.Names
}

// claims are the paths that other Files of the catalog are about.
type claims struct {
	has func(path string) bool
	// above are the directories that lead to them.
	above map[string]bool
	// identities are those of the files, as other paths may lead to them.
	identities func() map[string]bool
}

// A level is one directory of a walk. Its names are relative to the two sides.
type level struct {
	dir   string
	from  string // "" where it has no source
	depth int    // of what is in it; 1 directly below the File
	// local says that what is on the host counts besides the source, and purging that
	// it goes.
	local, purging bool
	// way are the directories above, of the host and of the source.
	way []identity
}

// An identity tells a directory from others whatever path leads to it.
type identity struct{ dev, ino uint64 }

func identityOf(info host.FileInfo) identity { return identity{info.Dev, info.Ino} }

// descend goes through one directory. It reports whether anything is left there that
// is not to be purged. What can't be looked at keeps nothing else from being managed: its
// owner may have made it so. The first error is returned at the end.
func (w *walk) descend(l level) (stays bool, err error) {
	names, there, err := w.list(l)
	if err != nil {
		return true, err
	}
	letGo, err := w.names.Hold(names)
	if err != nil {
		return true, fmt.Errorf("cannot read directory %s: %w", w.managed.path(l.dir), err)
	}
	defer letGo()
	for _, name := range names {
		_, sourced := slices.BinarySearch(there, name)
		left, failed := w.enter(l, name, sourced)
		if errors.Is(failed, errEnough) {
			return true, failed
		}
		err = cmp.Or(err, failed)
		stays = stays || left || failed != nil
	}
	return stays, err
}

// list is all names of a directory that are to be looked at, and those of them that the source has.
func (w *walk) list(l level) (names, there []string, err error) {
	if l.from != "" {
		if there, err = w.source.names(l.from); err != nil {
			return nil, nil, cannot("read source", err)
		}
	}
	if !l.local {
		return there, there, nil
	}
	here, err := w.managed.names(l.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, cannot("read directory", err)
	}
	names = slices.Concat(here, there)
	slices.Sort(names)
	return slices.Compact(names), there, nil
}

// enter deals with one name of a directory. What other Files are about stays theirs.
func (w *walk) enter(l level, name string, sourced bool) (stays bool, err error) {
	p := path.Join(l.dir, name)
	if ignored(w.want.Ignore, name) || w.own.has(w.managed.path(p)) {
		return true, nil
	}
	here, err := w.managed.info(p)
	exists := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return true, cannot("look at file", err)
	case sourced:
		return true, w.replicate(l, p, path.Join(l.from, name), here)
	case !exists: // it went away just now
		return false, nil
	case l.purging && !isCopy(w.want, name, here):
		return w.purge(l, p, here)
	}
	return true, w.tend(l, p, here)
}

// replicate deals with what the source has.
func (w *walk) replicate(l level, p, from string, here host.FileInfo) error {
	c, there, err := w.original(p, from)
	if err != nil {
		return err
	}
	mounted, err := w.mounted(l, p)
	if err == nil {
		err = w.visit(c)
	}
	if err != nil || c.as != directory {
		return err
	}
	if slices.Contains(l.way, identityOf(there)) {
		return fmt.Errorf("cannot copy %s: it leads back to a directory above it, or into %s: remove the link, or use links: manage",
			w.source.path(from), w.want.Path)
	}
	l.from, l.purging = from, l.purging && !mounted && here.IsDir()
	l.local = l.local && w.leadsOn(here)
	_, err = w.below(l, p, identityOf(there), identityOf(here))
	return err
}

// leadsOn reports whether something may be below what is there.
func (w *walk) leadsOn(here host.FileInfo) bool {
	return here.IsDir() || here.IsSymlink() && follows(w.want)
}

// original is a copy of what the source has, yet to be made. What is not there, as a link
// leads nowhere, is left to fail by itself.
func (w *walk) original(p, from string) (c child, there host.FileInfo, err error) {
	c = w.child(p, copied)
	c.from, c.copied, c.as = w.source.path(from), w.source.at(from), regular
	n, err := w.source.openMeant(from)
	if err != nil {
		return c, there, ignoreMissing(cannot("look at source", err))
	}
	defer n.Close()
	there = n.Info()
	if c.as = kindOf(there); c.as == link {
		c.text, err = n.Readlink()
	}
	return c, there, cannot("look at source", err)
}

// tend deals with what is only on the host and stays.
func (w *walk) tend(l level, p string, here host.FileInfo) error {
	if err := w.visit(w.child(p, tended)); err != nil {
		return err
	}
	if here.IsSymlink() && follows(w.want) {
		n, err := w.managed.openMeant(p)
		if err != nil {
			return ignoreMissing(cannot("follow link", err))
		}
		here = n.Info()
		_ = n.Close()
	}
	if !here.IsDir() || slices.Contains(l.way, identityOf(here)) {
		return nil
	}
	l.from, l.purging = "", false
	_, err := w.below(l, p, identityOf(here))
	return err
}

// purge deals with what is only on the host and goes, unless it is a mount or leads to
// what stays. A directory comes after what is in it, so that each file is told and kept.
func (w *walk) purge(l level, p string, here host.FileInfo) (stays bool, err error) {
	if claimed, err := w.claimedElsewhere(p); claimed || err != nil {
		return true, err
	}
	mounted, err := w.mounted(l, p)
	if err != nil {
		return true, err
	}
	if mounted {
		return true, w.tend(l, p, here)
	}
	if here.IsDir() {
		l.from = ""
		if stays, err = w.below(l, p, identityOf(here)); err != nil {
			return true, err
		}
		if stays || w.own.above[w.managed.path(p)] {
			return true, w.visit(w.child(p, tended))
		}
	}
	// Where this is refused, the directories above are not tried.
	c := w.child(p, purged)
	refused := refusal(kindOf(here), c.attributes(w.want)) != nil
	return refused || leavesCopy(w.want, here), w.visit(c)
}

// claimedElsewhere reports whether another File is about what has a name, by another path.
func (w *walk) claimedElsewhere(name string) (bool, error) {
	dir := w.managed.tree.Top
	if in := path.Dir(name); in != "." {
		n, err := w.managed.openMeant(in)
		if err != nil {
			return true, cannot("look at directory", err)
		}
		dir = n.Info()
		_ = n.Close()
	}
	return w.own.identities()[host.Identity(dir, path.Base(name))], nil
}

// mounted matters where something may be purged.
func (w *walk) mounted(l level, p string) (bool, error) {
	if !l.purging {
		return false, nil
	}
	mounted, err := w.managed.mounted(p)
	return mounted, cannot("look for mount", err)
}

// below goes one level down unless that is too far.
func (w *walk) below(l level, dir string, passed ...identity) (stays bool, err error) {
	if w.want.RecurseLimit != nil && l.depth >= int(*w.want.RecurseLimit) {
		return false, nil
	}
	l.dir, l.depth, l.way = dir, l.depth+1, slices.Concat(l.way, passed)
	return w.descend(l)
}

// child is what has a name on the managed side.
func (w *walk) child(name string, fate fate) child {
	return child{path: w.managed.path(name), at: w.managed.at(name), fate: fate}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

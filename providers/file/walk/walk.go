// Package walk goes through the entries below a directory that is managed recursively, and
// those of the directory that it is copied from, and decides the fate of each.
package walk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/file/entry"
)

// A Walk has in memory the names of the directories on its way and nothing else, however many
// entries there are. It is not safe for concurrent use.
type Walk struct {
	// Managed is the directory. Source is the directory that it is copied from, if any.
	Managed, Source Side
	// Ignore has shell globs of base names. Matching entries and everything below them are left alone.
	Ignore []string
	// Limit is the number of levels to descend; nil for all.
	Limit *int32
	// FollowLinks makes the walk follow symlinks to directories.
	FollowLinks bool
	// Local makes the walk visit entries that the source does not have.
	Local bool
	// Purge removes such entries unless others manage them.
	Purge bool
	// Removable reports whether an entry of this kind may be removed.
	Removable func(entry.Kind) bool
	// CopySuffix is the suffix of the copies of removed files, if there are any. Files
	// with such a name are not removed: that would make a copy of the copy.
	CopySuffix string
	// Others has paths that are left alone.
	Others Others

	visit func(Entry) error
	ended func() error // why the walk has to end, or nil
	names host.NameBudget
}

// A Fate is the treatment of an entry.
type Fate int

// The fates of an entry.
const (
	Kept   Fate = iota // it exists, and may get another owner or mode
	Copied             // it is made like the entry of the source
	Purged
)

// An Entry is an entry below the managed directory or its source.
type Entry struct {
	Path string
	Spot *entry.Spot // nil if links are followed
	Fate Fate
	// Original is the entry to copy; nil for none.
	Original *Original
}

// An Original is an entry of the source.
type Original struct {
	Path string
	Spot *entry.Spot // nil if links are followed
	Kind entry.Kind
	Text string // of a link
}

// ErrStop is returned by a visit that ends the walk.
var ErrStop = errors.New("the walk was stopped")

// Close closes the two directories.
func (w *Walk) Close() {
	w.Managed.close()
	w.Source.close()
}

// Each visits every entry, a directory before those in it unless it is purged. An entry that
// can't be looked at does not prevent others from being visited: its owner may have made it
// so. The first error is returned at the end. The end of ctx ends the walk.
func (w *Walk) Each(ctx context.Context, visit func(Entry) error) error {
	w.visit, w.ended = visit, ctx.Err
	l := level{dir: ".", depth: 1, purge: w.Purge}
	if w.Managed.exists() {
		l.above = append(l.above, identityOf(w.Managed.tree.Top))
	}
	l.local = w.Local && w.Managed.tree.Top.IsDir()
	if w.Source.exists() {
		l.from, l.above = ".", append(l.above, identityOf(w.Source.tree.Top))
	}
	_, err := w.descend(l)
	return err
}

// A level is one directory of a walk. Its names are relative to the two sides.
type level struct {
	dir   string
	from  string // "" if it has no source
	depth int    // of its entries; 1 directly below the managed directory
	// local and purge are Local and Purge at this level.
	local, purge bool
	// above has the directories above, of the host and of the source.
	above []identity
}

// An identity identifies a directory, whatever path leads to it.
type identity struct{ dev, ino uint64 }

func identityOf(info host.FileInfo) identity { return identity{info.Dev, info.Ino} }

// descend goes through one directory. It reports whether anything there is not purged.
func (w *Walk) descend(l level) (stays bool, err error) {
	names, inSource, err := w.list(l)
	if err != nil {
		return true, err
	}
	release, err := w.names.Reserve(names)
	if err != nil {
		return true, fmt.Errorf("cannot read directory %s: %w", w.Managed.path(l.dir), err)
	}
	defer release()
	for _, name := range names {
		_, copied := slices.BinarySearch(inSource, name)
		left, failed := w.enter(l, name, copied)
		if errors.Is(failed, ErrStop) {
			return true, failed
		}
		err = cmp.Or(err, failed)
		stays = stays || left || failed != nil
	}
	return stays, err
}

// list returns the names in a directory to look at, and the subset that the source has.
func (w *Walk) list(l level) (names, inSource []string, err error) {
	if l.from != "" {
		if inSource, err = w.Source.names(l.from); err != nil {
			return nil, nil, fmt.Errorf("cannot read source: %w", err)
		}
	}
	if !l.local {
		return inSource, inSource, nil
	}
	here, err := w.Managed.names(l.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("cannot read directory: %w", err)
	}
	names = slices.Concat(here, inSource)
	slices.Sort(names)
	return slices.Compact(names), inSource, nil
}

func (w *Walk) enter(l level, name string, copied bool) (stays bool, err error) {
	if err := w.ended(); err != nil {
		return true, err
	}
	p := path.Join(l.dir, name)
	if ignored(w.Ignore, name) || w.Others.manage(w.Managed.path(p)) {
		return true, nil
	}
	here, err := w.Managed.info(p)
	exists := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return true, fmt.Errorf("cannot look at file: %w", err)
	case copied:
		return true, w.copy(l, p, path.Join(l.from, name), here)
	case !exists: // it was removed a moment ago
		return false, nil
	case l.purge && !w.isCopy(name, here):
		return w.purge(l, p, here)
	}
	return true, w.keep(l, p, here)
}

// copy visits an entry that the source has.
func (w *Walk) copy(l level, p, from string, here host.FileInfo) error {
	original, info, err := w.original(from)
	if err != nil {
		return err
	}
	mounted, err := w.mounted(l, p)
	if err == nil {
		err = w.visit(Entry{w.Managed.path(p), w.Managed.spot(p), Copied, original})
	}
	if err != nil || original.Kind != entry.Directory {
		return err
	}
	if slices.Contains(l.above, identityOf(info)) {
		return fmt.Errorf("cannot copy %s: it leads back to a directory above it, or into %s: remove the link, or use links: manage",
			original.Path, w.Managed.tree.Path)
	}
	l.from, l.purge = from, l.purge && !mounted && here.IsDir()
	l.local = l.local && w.canDescend(here)
	_, err = w.below(l, p, identityOf(info), identityOf(here))
	return err
}

// canDescend reports whether an entry of the host may have entries of its own.
func (w *Walk) canDescend(here host.FileInfo) bool {
	return here.IsDir() || here.IsSymlink() && w.FollowLinks
}

// original describes an entry of the source. One that is missing, such as the target of a
// broken link, is treated as a file, which then fails by itself.
func (w *Walk) original(from string) (*Original, host.FileInfo, error) {
	o := &Original{Path: w.Source.path(from), Spot: w.Source.spot(from), Kind: entry.Regular}
	file, err := w.Source.openTarget(from)
	if err != nil {
		return o, host.FileInfo{}, cannotLook("source", ignoreMissing(err))
	}
	defer file.Close()
	info := file.Info()
	if o.Kind = entry.KindOf(info); o.Kind == entry.Link {
		o.Text, err = w.textOf(file, from)
	}
	return o, info, cannotLook("source", err)
}

// textOf returns the text of a symlink of the source. One that a user can have made is an error: its copy would be root's, and
// root's symlinks are followed.
func (w *Walk) textOf(link host.Handle, from string) (string, error) {
	dir, err := w.Source.dirOf(from)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if only, err := dir.OnlyRootWrites(); err != nil || !only || !link.Info().OwnedByRoot() {
		return "", cmp.Or(err, fmt.Errorf("symlink %s is not copied, because users other than root can have made it: "+
			"leave it out by ignore, and manage it as a File with target", link.Path()))
	}
	return link.Readlink()
}

// keep visits an entry that only the host has and that stays.
func (w *Walk) keep(l level, p string, here host.FileInfo) error {
	if err := w.visit(w.entry(p, Kept)); err != nil {
		return err
	}
	if here.IsSymlink() && w.FollowLinks {
		file, err := w.Managed.openTarget(p)
		if err != nil {
			return cannotLook("target of link", ignoreMissing(err))
		}
		here = file.Info()
		_ = file.Close()
	}
	if !here.IsDir() || slices.Contains(l.above, identityOf(here)) {
		return nil
	}
	l.from, l.purge = "", false
	_, err := w.below(l, p, identityOf(here))
	return err
}

// below goes one level down, unless that is beyond the limit.
func (w *Walk) below(l level, dir string, passed ...identity) (stays bool, err error) {
	if w.Limit != nil && l.depth >= int(*w.Limit) {
		return false, nil
	}
	l.dir, l.depth, l.above = dir, l.depth+1, slices.Concat(l.above, passed)
	return w.descend(l)
}

func (w *Walk) entry(name string, fate Fate) Entry {
	return Entry{Path: w.Managed.path(name), Spot: w.Managed.spot(name), Fate: fate}
}

func cannotLook(at string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot look at %s: %w", at, err)
}

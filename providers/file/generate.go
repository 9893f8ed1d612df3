package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/backup"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/source"
	"github.com/fettle-dev/fettle/providers/file/walk"
)

// manyFiles is the number of files below one File above which a warning is reported.
const manyFiles = 1000

// checkRecursion rejects a recursion before anything is changed if its source is not a
// directory, or if there are more files than maxFiles.
func (p posix) checkRecursion(ctx context.Context, h resource.Reader, want Attributes) error {
	if !ptr.Deref(want.Recurse, false) {
		return nil
	}
	limit := int(ptr.Deref(want.MaxFiles, 0))
	if want.Source == nil && limit < 1 {
		return nil
	}
	w, err := p.open(ctx, h, want)
	if err != nil {
		return err
	}
	defer w.Close()
	if limit > 0 && hasMoreThan(ctx, w, limit) {
		return fmt.Errorf("%s has more than %d files below it: raise maxFiles, or leave some out by ignore or recurseLimit", want.Path, limit)
	}
	return nil
}

// hasMoreThan stops counting at the limit. Entries that can't be counted fail later, when
// the directory is walked.
func hasMoreThan(ctx context.Context, w *walk.Walk, limit int) bool {
	count := 0
	w.Purge = false
	err := w.Each(ctx, func(walk.Entry) error {
		if count++; count > limit {
			return walk.ErrStop
		}
		return nil
	})
	return errors.Is(err, walk.ErrStop)
}

// open opens the directories of a walk. The caller closes it.
func (p posix) open(ctx context.Context, h resource.Reader, want Attributes) (*walk.Walk, error) {
	from, err := p.sources.Choose(ctx, h, sourceOf(want))
	if err != nil {
		return nil, err
	}
	top, tree, err := p.place(h, want).LookupTree(h)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cannot("look at directory", err)
	}
	w := &walk.Walk{
		Managed: walk.NewSide(h, top, tree, follows(want)),
		Ignore:  want.Ignore, Limit: want.RecurseLimit, FollowLinks: follows(want),
		// Entries that only the host has are not visited if nothing could change there.
		Local:      !onlySource(want) && (ptr.Deref(want.Purge, false) || managesMetadata(want)),
		Purge:      ptr.Deref(want.Purge, false),
		Removable:  func(kind entry.Kind) bool { return removalRefused(kind, want) == nil },
		CopySuffix: backup.Suffix(backupTo(want)),
	}
	if want.Source == nil {
		return w, nil
	}
	top, tree, err = source.LookupTree(h, from)
	if err != nil {
		w.Close()
		return nil, err
	}
	w.Source = walk.NewSide(h, top, tree, follows(want))
	return w, nil
}

// Generate implements [resource.Generator]: the files below a recursive one.
func (p posix) Generate(ctx context.Context, h resource.Reader, want Attributes, inventory resource.Inventory) iter.Seq2[resource.Resource, error] {
	if !ptr.Deref(want.Recurse, false) {
		return func(func(resource.Resource, error) bool) {}
	}
	return p.children(ctx, h, want, inventory)
}

func (p posix) children(ctx context.Context, h resource.Reader, want Attributes, inventory resource.Inventory) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		if err := p.generate(ctx, h, want, inventory, yield); err != nil && !errors.Is(err, walk.ErrStop) {
			yield(nil, err)
		}
	}
}

func (p posix) generate(ctx context.Context, h resource.Reader, want Attributes, inventory resource.Inventory, yield func(resource.Resource, error) bool) error {
	w, err := p.open(ctx, h, want)
	if err != nil {
		return err
	}
	defer w.Close()
	waits := awaitFiles(h, want, inventory)
	w.Purge = w.Purge && waits == nil
	others := withheldPaths(inventory)
	w.Others = walk.NewOthers(h, want.Path, resource.Paths(inventory, "File"), func(p string) bool { return others[p] || inventory.Has("File", p) })
	count := 0
	err = w.Each(ctx, func(e walk.Entry) error {
		if e.Fate == walk.Kept && !managesMetadata(want) {
			return nil
		}
		count++
		return p.yieldChild(child(want, e), yield)
	})
	warnOfMany(h, want, count)
	return cmp.Or(err, waits)
}

func (p posix) yieldChild(a Attributes, yield func(resource.Resource, error) bool) error {
	res, err := p.bind(resource.Ref{Kind: "File", Name: a.Path}, a)
	if err == nil && !yield(res, nil) {
		err = walk.ErrStop
	}
	return err
}

// child returns a File with the attributes of the parent, except for the attributes of the directory itself.
func child(parent Attributes, e walk.Entry) Attributes {
	a := Attributes{FileAttributes: parent.FileAttributes, child: true, spot: e.Spot}
	a.Path, a.Ensure, a.Source, a.Sources, a.FollowParentLinks = e.Path, nil, nil, nil, nil
	a.Recurse, a.RecurseScope, a.RecurseLimit, a.MaxFiles, a.Ignore, a.Purge = nil, nil, nil, nil, nil, nil
	switch e.Fate {
	case walk.Purged:
		a.Ensure, a.Links = new(resource.Absent), nil // never the target of a link
	case walk.Copied:
		a.copy(*e.Original)
	case walk.Kept:
	}
	return a
}

// copy returns a File that copies an entry of the source. An entry that can't be copied fails when
// it is read.
func (a *Attributes) copy(original walk.Original) {
	a.sourceSpot = original.Spot
	switch original.Kind {
	case entry.Directory:
		a.Ensure = new(string(entry.Directory))
	case entry.Link:
		a.Ensure, a.Target = new(string(entry.Link)), &original.Text
	default:
		a.Ensure, a.Source = new(string(entry.Regular)), &original.Path
	}
}

// warnOfMany reports more files than the author may have expected, unless maxFiles is set.
func warnOfMany(h resource.Reader, want Attributes, count int) {
	if count > manyFiles && ptr.Deref(want.MaxFiles, 0) == 0 {
		h.Note(fmt.Sprintf("warning: %d files below %s are many for one resource: "+
			"leave some out by ignore or recurseLimit, or set maxFiles to how many are expected, -1 for any number\n", count, want.Path))
	}
}

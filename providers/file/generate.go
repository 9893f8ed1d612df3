package file

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"sync"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// manyFiles is how many files below one File are worth a warning: whoever manages more
// had better name what is meant, or pack it.
const manyFiles = 1000

// errEnough ends a walk of which nobody wants to know more.
var errEnough = errors.New("enough was seen")

// survey refuses a recursion that can't be as it is meant, before anything is changed: a
// source that is no directory, more files than maxFiles.
func (p posix) survey(h resource.Reader, want Attributes) error {
	if !recurses(want) || want.Source == nil && (want.MaxFiles == nil || *want.MaxFiles < 1) {
		return nil
	}
	w, err := p.walk(h, want)
	if err != nil {
		return err
	}
	defer w.end()
	if want.MaxFiles == nil || *want.MaxFiles < 1 {
		return nil
	}
	return w.tooMany(int(*want.MaxFiles))
}

// tooMany counts no further than it must, and what it can: the rest fails when it is walked.
func (w *walk) tooMany(most int) error {
	seen := 0
	w.own.has = func(string) bool { return false }
	w.visit = func(child) error {
		if seen++; seen > most {
			return errEnough
		}
		return nil
	}
	if err := w.all(false); errors.Is(err, errEnough) {
		return fmt.Errorf("%s has more than %d files below it: raise maxFiles, or leave some out by ignore or recurseLimit", w.want.Path, most)
	}
	return nil
}

// walk opens the directories of a walk. The caller ends it.
func (p posix) walk(h resource.Reader, want Attributes) (w *walk, err error) {
	w = &walk{want: want}
	if w.managed, err = p.managedSide(h, want); err != nil {
		return nil, err
	}
	if want.Source == nil {
		return w, nil
	}
	if w.source, err = sourceSide(h, want); err != nil {
		w.end()
		return nil, err
	}
	return w, nil
}

func (w *walk) end() {
	w.managed.close()
	w.source.close()
}

// all walks from the directory itself, if there is one and anything to do there.
func (w *walk) all(purging bool) error {
	l := level{dir: ".", depth: 1, purging: purging}
	top := w.managed.tree.Top
	if w.managed.top != nil {
		l.way = append(l.way, identityOf(top))
	}
	// Where nothing could change on the host alone, it is not looked at.
	l.local = top.IsDir() && !onlySource(w.want) && (purges(w.want) || asksForChildren(w.want))
	if w.source.top != nil {
		l.from, l.way = ".", append(l.way, identityOf(w.source.tree.Top))
	}
	_, err := w.descend(l)
	return err
}

// Generate implements [resource.Generator]: the files below one that recurses.
func (p posix) Generate(ctx context.Context, h resource.Reader, want Attributes, c resource.Catalog) iter.Seq2[resource.Resource, error] {
	if !recurses(want) {
		return func(func(resource.Resource, error) bool) {}
	}
	return p.children(ctx, h, want, c)
}

func (p posix) children(ctx context.Context, h resource.Reader, want Attributes, c resource.Catalog) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		if err := p.generate(ctx, h, want, c, yield); err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

func (p posix) generate(ctx context.Context, h resource.Reader, want Attributes, c resource.Catalog, yield func(resource.Resource, error) bool) error {
	want, err := p.choose(ctx, h, want)
	if err != nil {
		return err
	}
	w, err := p.walk(h, want)
	if err != nil {
		return err
	}
	defer w.end()
	count := 0
	w.own = claimed(h, want.Path, c)
	w.visit = func(one child) error {
		if one.fate == tended && !asksForChildren(want) {
			return nil
		}
		count++
		return p.bring(one.attributes(want), yield)
	}
	ref, missing := c.Missing("File")
	err = w.all(purges(want) && !missing)
	warn(h, want, count)
	if err == nil && purges(want) && missing {
		return fmt.Errorf("what %s manages is not known while it is withheld or invalid, so nothing is purged: mend it first", ref)
	}
	return err
}

// warn tells of more files than somebody may have thought of, unless maxFiles does.
func warn(h resource.Reader, want Attributes, count int) {
	if count > manyFiles && (want.MaxFiles == nil || *want.MaxFiles == 0) {
		h.Note(fmt.Sprintf("warning: %d files below %s are many for one resource: "+
			"leave some out by ignore or recurseLimit, or say by maxFiles how many there may be, -1 for any number\n", count, want.Path))
	}
}

// bring makes the resource of a child, for as long as anybody wants more of them.
func (p posix) bring(a Attributes, yield func(resource.Resource, error) bool) error {
	res, err := p.bind(resource.Ref{Kind: "File", Name: a.Path}, a)
	if err == nil && !yield(res, nil) {
		err = errEnough
	}
	return err
}

// claimed looks for the other Files below a path.
func claimed(h host.Reader, top string, c resource.Catalog) claims {
	own := claims{has: func(p string) bool { return c.Has("File", p) }, above: map[string]bool{}}
	own.identities = sync.OnceValue(func() map[string]bool {
		all, in := map[string]bool{}, directories{h: h}
		for name := range c.Names("File") {
			all[in.identity(name)] = true
		}
		return all
	})
	for name := range c.Names("File") {
		for dir := path.Dir(name); dir != top && isBelow(dir, top) && !own.above[dir]; dir = path.Dir(dir) {
			own.above[dir] = true
		}
	}
	return own
}

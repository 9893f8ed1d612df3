package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"

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
func survey(h host.Reader, want Attributes) error {
	if !recurses(want) {
		return nil
	}
	if want.Source != nil {
		switch info, err := h.Stat(*want.Source); {
		case err != nil:
			return cannot("look at source", err)
		case !info.IsDir():
			return fmt.Errorf("source %s is a %s, and recurse needs a directory: name one, or remove recurse", *want.Source, kindOf(info))
		}
	}
	if want.MaxFiles == nil || *want.MaxFiles < 1 {
		return nil
	}
	return tooMany(h, want, int(*want.MaxFiles))
}

// tooMany counts no further than it must.
func tooMany(h host.Reader, want Attributes, most int) error {
	seen := 0
	w := walk{h: h, source: h, want: want, own: claims{has: func(string) bool { return false }}, visit: func(child) error {
		if seen++; seen > most {
			return errEnough
		}
		return nil
	}}
	err := w.all(false)
	if errors.Is(err, errEnough) {
		return fmt.Errorf("%s has more than %d files below it: raise maxFiles, or leave some out by ignore or recurseLimit", want.Path, most)
	}
	return err
}

// all walks from the directory itself, if there is one and anything to do there.
func (w *walk) all(purging bool) error {
	l := level{dir: w.want.Path, depth: 1, purging: purging}
	top, err := w.look(w.h, w.want.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannot("look at directory", err)
	}
	if err == nil {
		l.way = append(l.way, identityOf(top))
	}
	// Where nothing could change on the host alone, it is not looked at.
	l.local = top.IsDir() && !onlySource(w.want) && (purges(w.want) || asksForChildren(w.want))
	if w.want.Source != nil {
		from, err := w.source.Stat(*w.want.Source)
		if err != nil {
			return cannot("look at source", err)
		}
		l.from, l.way = *w.want.Source, append(l.way, identityOf(from))
	}
	_, err = w.descend(l)
	return err
}

// Generate implements [resource.Generator]: the files below one that recurses.
func (p posix) Generate(ctx context.Context, h host.Reader, want Attributes, c resource.Catalog) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		if !recurses(want) {
			return
		}
		if err := p.generate(ctx, h, want, c, yield); err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

func (p posix) generate(ctx context.Context, h host.Reader, want Attributes, c resource.Catalog, yield func(resource.Resource, error) bool) error {
	count := 0
	want.straight = leadsStraight(h, want)
	w := walk{h: h, source: h, want: want, own: claimed(want.Path, c), visit: func(one child) error {
		if one.fate == tended && !asksForChildren(want) {
			return nil
		}
		count++
		return p.bring(one.attributes(want), yield)
	}}
	if want.straight {
		w.h = h.LookStraight()
	}
	ref, missing := c.Missing("File")
	err := w.all(purges(want) && !missing)
	warn(ctx, want, count)
	if err == nil && purges(want) && missing {
		return fmt.Errorf("what %s manages is not known while it is withheld or invalid, so nothing is purged: mend it first", ref)
	}
	return err
}

// warn tells of more files than somebody may have thought of, unless maxFiles does.
func warn(ctx context.Context, want Attributes, count int) {
	if count > manyFiles && (want.MaxFiles == nil || *want.MaxFiles == 0) {
		resource.Tell(ctx, fmt.Sprintf("warning: %d files below %s are many for one resource: "+
			"leave some out by ignore or recurseLimit, or say by maxFiles how many there may be, -1 for any number\n", count, want.Path))
	}
}

// leadsStraight reports whether all that lies below the path is reached without a symlink,
// as it is unless the directory's own path has one or they are to be followed.
func leadsStraight(h host.Reader, want Attributes) bool {
	_, err := h.LookStraight().Lstat(want.Path)
	return !follows(want) && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// door is the host as the path itself is to be changed.
func door(h host.Host, want Attributes) host.Host {
	if want.straight {
		return h.ActStraight()
	}
	return h
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
func claimed(top string, c resource.Catalog) claims {
	own := claims{has: func(p string) bool { return c.Has("File", p) }, above: map[string]bool{}}
	for name := range c.Names("File") {
		for dir := path.Dir(name); dir != top && isBelow(dir, top) && !own.above[dir]; dir = path.Dir(dir) {
			own.above[dir] = true
		}
	}
	return own
}

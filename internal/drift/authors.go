package drift

import (
	"maps"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Author returns the last process that changed what is watched for a resource, before the run, or correction, in progress or just ended
// handled it or, failing that, since then. It is nil if none is known.
func (w *Watcher) Author(ref resource.Ref) *host.Author {
	if w == nil {
		return nil
	}
	maps.Copy(w.authors.later, w.watch.Authors())
	for _, known := range []map[string]*host.Author{w.authors.handled, w.authors.later} {
		for _, path := range w.watched.paths[ref] {
			if known[path] != nil {
				return known[path]
			}
		}
	}
	return nil
}

// authors are those of changes, by path.
type authors struct {
	handled map[string]*host.Author // of changes that the run or correction in progress handles
	later   map[string]*host.Author // of changes since
}

func newAuthors() authors { return authors{map[string]*host.Author{}, map[string]*host.Author{}} }

// begin is called when a run begins. recent are the authors of the changes since the last call.
func (a *authors) begin(recent map[string]*host.Author) {
	maps.Copy(a.later, recent)
	a.handled, a.later = a.later, map[string]*host.Author{}
}

// beginCorrection is called when a correction begins that handles the changes of these paths.
func (a *authors) beginCorrection(recent map[string]*host.Author, paths []string) {
	maps.Copy(a.later, recent)
	for _, path := range paths {
		delete(a.handled, path)
		if by := a.later[path]; by != nil {
			a.handled[path] = by
			delete(a.later, path)
		}
	}
}

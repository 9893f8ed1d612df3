package resource

import (
	"context"
	"iter"
)

// An Inventory tells a generating resource which objects the other resources of its catalog manage, so that it leaves those alone.
type Inventory interface {
	// Has reports whether the catalog has a resource of this kind with this name on the host (its
	// canonical name, namevar or another key).
	Has(kind, key string) bool
	// Names returns the names on the host, namevars and other keys, of all resources of a kind, in
	// no particular order.
	Names(kind string) iter.Seq[string]
	// Withheld returns the resources of a kind, and of those that manage the same objects, that belong to the catalog but are not
	// applied. What they manage must not be removed: see [WaitError].
	Withheld(kind string) iter.Seq[Withheld]
	// Unnamed returns a resource of a kind whose canonical name is unknown, and why: which object it
	// manages is unknown, too. Its provider may have answered with another name than that of the resource. The error is nil
	// if there is none.
	Unnamed(ctx context.Context, kind string) (Ref, error)
	// Kind returns a type by its name.
	Kind(name string) (Kind, bool)
	// Facts returns the host's facts.
	Facts() Facts
}

// Paths returns the names of the resources of a kind whose names are paths, including the withheld ones as far as they are known.
func Paths(all Inventory, kind string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range all.Names(kind) {
			if !yield(name) {
				return
			}
		}
		for w := range all.Withheld(kind) {
			if p := w.Path(); p != "" && !yield(p) {
				return
			}
		}
	}
}

package resource

import (
	"context"
	"iter"
)

// A Generator is a provider whose resources bring others along: a directory the files
// below it, a purge what nobody manages. The engine asks once the resource itself is
// dealt with, and deals with each of the others as it comes, so that there may be very
// many. What the catalog has itself must not be among them: its own entry is more
// specific. They share the resource's noop, what comes after it waits for them, and
// what it notifies gets their events. An error ends the sequence and fails the resource.
type Generator[A any] interface {
	Generate(ctx context.Context, h Reader, want A, c Catalog) iter.Seq2[Resource, error]
}

// A Catalog is what a generating resource may know of the rest of its catalog.
type Catalog interface {
	// Has reports whether there is a resource of this kind with this name on the host
	// (its namevar or another key).
	Has(kind, key string) bool
	// Names are the names on the host, namevars and other keys, of all resources of a
	// kind, in no order.
	Names(kind string) iter.Seq[string]
	// Missing is a resource of a kind that belongs into the catalog and is not there as
	// it should be: contested, waiting or invalid. What it manages is not known.
	Missing(kind string) (ref Ref, missing bool)
	// Kind finds a type that this program has.
	Kind(name string) (Kind, bool)
	// Facts are the host's.
	Facts() Facts
}

// Of binds attributes that a program made, as [Kind.Bind] does what a user wrote.
func (t *Type[A]) Of(ref Ref, want A) (Resource, error) {
	return (&bound[A]{t: t, ref: ref, want: want}).bind(nil)
}

func (b *bound[A]) CanGenerate() bool {
	_, ok := b.provider.(Generator[A])
	return ok
}

func (b *bound[A]) Generate(ctx context.Context, h Reader, c Catalog) iter.Seq2[Resource, error] {
	g, ok := b.provider.(Generator[A])
	if !ok {
		return func(func(Resource, error) bool) {}
	}
	return g.Generate(ctx, h, b.want, c)
}

package resource

import (
	"context"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Deletion is what happens to a thing on a host once no resource is about it any more.
type Deletion string

// The deletions. Each but Orphan is noted in a [Claim].
const (
	Orphan  Deletion = ""        // it stays as it is
	Delete  Deletion = "Delete"  // it is removed
	Restore Deletion = "Restore" // what was changed by intention becomes what it was
)

// Leaving says how the things of a type go away.
type Leaving[A any] struct {
	// Gone is what has the thing of a resource removed: what names it, how it goes away and
	// that it is not to be there. It must hold no secret.
	Gone func(want A) A
	// Whole says that a property says nothing without the others: all are kept when one is.
	Whole bool
	// Was is the state to come back to before changes, where that is another than the one
	// that was read. Optional.
	Was func(h host.Reader, is A, changes []Change) (A, error)
	// Former is what changes that are about to be made replace, in attributes that bring it
	// back; content that is kept for that goes into the bucket. Optional: the changed
	// properties as they were read or, where the thing is made or removed, all of them.
	Former func(ctx context.Context, h Writer, is, want A, changes []Change) (A, error)
	// Bound is given what leaves as it is bound, to mark it as such. Optional.
	Bound func(want *A)
}

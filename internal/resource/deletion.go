package resource

import (
	"context"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Deletion is a deletion policy: the fate of a thing on a host once no resource manages it.
type Deletion string

// The deletion policies. All except Orphan are recorded in a [Claim].
const (
	Orphan  Deletion = ""        // leave the thing as it is
	Delete  Deletion = "Delete"  // remove the thing
	Restore Deletion = "Restore" // undo the intentional changes
)

// Leaving declares how things of a type are removed or restored.
type Leaving[A any] struct {
	// Gone returns the attributes that remove the thing of a resource: its name, an absent ensure,
	// and the attributes that control the removal. They must contain no secret.
	Gone func(want A) A
	// Whole means that the properties only make sense together: if one is recorded, all are.
	Whole bool
	// Was returns the state to restore, if that differs from the state that was read before the
	// changes. Optional.
	Was func(h host.Reader, is A, changes []Change) (A, error)
	// Former returns the attributes that restore what the pending changes replace. It saves content
	// that it needs for that in the bucket. Optional: by default, the changed properties as they
	// were read or, if the thing is created or removed, all properties.
	Former func(ctx context.Context, h Writer, is, want A, changes []Change) (A, error)
	// Bound is called with the attributes of a thing to remove when they are bound, to mark them as
	// such. Optional.
	Bound func(want *A)
}

package resource

import (
	"context"

	"github.com/fettle-dev/fettle/internal/host"
)

// A DeletionPolicy says what happens to an object on a host once no resource manages it.
type DeletionPolicy string

// The deletion policies. All except Orphan are recorded in a claim.
const (
	Orphan  DeletionPolicy = ""        // leave the object as it is
	Delete  DeletionPolicy = "Delete"  // delete the object
	Restore DeletionPolicy = "Restore" // undo the intentional changes
)

// A Deletion declares how objects of a type are deleted, or restored to their original state, once no resource
// manages them.
type Deletion[A any] struct {
	// Delete returns the attributes that delete the object of a resource: its name, an absent ensure,
	// and the attributes that control the deletion. They must contain no secret.
	Delete func(want A) A
	// Whole means that the properties only make sense together: if one is recorded, all are.
	Whole bool
	// Original returns the state to restore, if that differs from the state that was read before the
	// changes. Optional.
	Original func(h host.Reader, is A, changes []Change) (A, error)
	// Restore returns the attributes that restore what the pending changes replace. It saves content
	// that it needs for that in the bucket. Optional: by default, the changed properties as they
	// were read or, if the object is created or deleted, all properties.
	Restore func(ctx context.Context, h Writer, is, want A, changes []Change) (A, error)
	// Bound is called with the attributes of a deletion when they are bound, to mark them as such. Optional.
	Bound func(want *A)
}

package resource

import (
	"context"
	"errors"
	"slices"
)

// Simple is a Write in three parts, as in the SimpleProvider of Puppet's Resource API. The change
// of ensure selects the part. None is called if the resource is and stays absent.
type Simple[A any] struct {
	// Create makes the missing object, with all attributes of want.
	Create func(ctx context.Context, h Writer, is, want A) error
	// Update changes the existing object, for example with [OneByOne].
	Update func(ctx context.Context, h Writer, is, want A, changes []Change) error
	// Delete removes the object.
	Delete func(ctx context.Context, h Writer, is, want A) error
}

// Write implements [Provider].
func (s Simple[A]) Write(ctx context.Context, h Writer, is, want A, changes []Change) error {
	for _, c := range changes {
		switch {
		case c.Removes():
			return s.Delete(ctx, h, is, want)
		case c.Creates():
			return s.Create(ctx, h, is, want)
		}
	}
	return s.Update(ctx, h, is, want, changes)
}

// A SimpleCheck is a [Prechecker] in three parts, like [Simple].
type SimpleCheck[A any] struct {
	Create func(h Reader, is, want A) error
	Update func(h Reader, is, want A, changes []Change) error
	Delete func(h Reader, is, want A) error
}

// Check returns the errors of all writes.
func (s SimpleCheck[A]) Check(h Reader, writes []Write[A]) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		switch {
		case slices.ContainsFunc(w.Changes, Change.Removes):
			errs[i] = s.Delete(h, w.Is, w.Want)
		case slices.ContainsFunc(w.Changes, Change.Creates):
			errs[i] = s.Create(h, w.Is, w.Want)
		default:
			errs[i] = s.Update(h, w.Is, w.Want, w.Changes)
		}
	}
	return errs
}

// OneByOne sets the changed properties one by one, in the order of the changes. A failure does not
// prevent the others from being set. Puppet's flush corresponds to the caller's next step.
func OneByOne(changes []Change, set func(property string) error) error {
	var errs []error
	for _, c := range changes {
		if err := set(c.Property); err != nil {
			errs = append(errs, &PropertyError{Property: c.Property, Err: err})
		}
	}
	return errors.Join(errs...)
}

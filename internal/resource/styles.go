package resource

import (
	"context"
	"errors"
)

// Simple is a Write in three parts, as the Resource API's SimpleProvider has it. Which
// one is called follows from the change of ensure: of absent to absent there is none.
type Simple[A any] struct {
	// Create makes what is not there, with all that want says.
	Create func(ctx context.Context, h Writer, is, want A) error
	// Update makes changes to what is there, by [OneByOne] for one.
	Update func(ctx context.Context, h Writer, is, want A, changes []Change) error
	// Delete takes away what is there.
	Delete func(ctx context.Context, h Writer, is, want A) error
}

// Write is that of a [Provider].
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

// OneByOne has each property set by itself, in the order of the changes. One that fails
// does not keep the others from being set. What Puppet calls flush is what the caller
// does next.
func OneByOne(changes []Change, set func(property string) error) error {
	var errs []error
	for _, c := range changes {
		if err := set(c.Property); err != nil {
			errs = append(errs, &PropertyError{Property: c.Property, Err: err})
		}
	}
	return errors.Join(errs...)
}

package resource

import (
	"errors"
	"fmt"
)

// A PropertyError is the failure of one property in a write.
type PropertyError struct {
	Property string
	Err      error
}

// Error names the property.
func (e *PropertyError) Error() string {
	return fmt.Sprintf("cannot set %s: %v", e.Property, e.Err)
}

// Unwrap returns the cause.
func (e *PropertyError) Unwrap() error { return e.Err }

// A MissingError is the error of a [Prechecker] about an object that must exist first, such as the
// parent directory or the owner of a file. It is ignored if the run would make that object before.
// An error within another one names an alternative.
type MissingError struct {
	// Kind and Name identify a resource that would make the object. Name is its namevar or another
	// key. A name that ends in a slash stands for anything below that directory.
	Kind, Name string
	Err        error
}

// Error returns the text of Err.
func (e *MissingError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *MissingError) Unwrap() error { return e.Err }

// A ProvisionalError is the error of a [Prechecker] that depends on other resources, though nobody can tell on which. It is
// ignored if the run would change resources first on which this one depends.
type ProvisionalError struct{ Err error }

// Error returns the text of Err.
func (e *ProvisionalError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ProvisionalError) Unwrap() error { return e.Err }

// An UnknownError is the error of a [Prechecker] about a change whose outcome only an apply can tell, because foreign code, a maintainer
// script or the network decides it. The change is reported, and marked as unknown. Other errors count more.
type UnknownError struct {
	// Reason says in a few words what decides it, such as "runs a command".
	Reason string
}

// Error returns the reason.
func (e *UnknownError) Error() string { return "unknown: " + e.Reason }

// Parts returns the errors that were joined into one, those of a property each as a [PropertyError]; nothing for nil.
func Parts(err error) (parts []error) {
	joined, isJoined := err.(interface{ Unwrap() []error })
	property, isProperty := err.(*PropertyError) //nolint:errorlint // an error around it has more to say
	switch {
	case err == nil:
	case isJoined:
		for _, err := range joined.Unwrap() {
			parts = append(parts, Parts(err)...)
		}
	case isProperty:
		for _, err := range Parts(property.Err) {
			parts = append(parts, &PropertyError{property.Property, err})
		}
	default:
		parts = []error{err}
	}
	return parts
}

// Certain returns an error without each UnknownError in it, for the Write that applies the rules of a [Prechecker].
func Certain(err error) error {
	var left []error
	for _, err := range Parts(err) {
		if _, unknown := errors.AsType[*UnknownError](err); !unknown {
			left = append(left, err)
		}
	}
	return errors.Join(left...)
}

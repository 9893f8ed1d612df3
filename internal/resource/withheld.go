package resource

import (
	"fmt"
	"iter"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Withheld resource belongs to a catalog, but must not be applied: it is invalid, in conflict, or waits for something. What it
// manages stays as it is.
type Withheld struct {
	Ref Ref
	// Location is where on the host it manages something, as [Type].Location has it; "" if that is unknown.
	Location string
	// Why is the reason; "" if that is unknown.
	Why string
}

// String returns "File/motd is withheld (Conflict: ...)".
func (w Withheld) String() string {
	if w.Why == "" {
		return w.Ref.String() + " is withheld"
	}
	return w.Ref.String() + " is withheld (" + w.Why + ")"
}

// Path returns the path that its location is; "" if it is none.
func (w Withheld) Path() string {
	if !path.IsAbs(w.Location) {
		return ""
	}
	return path.Clean(w.Location)
}

// IsTree reports whether it manages, or may manage, what is below its path too.
func (w Withheld) IsTree() bool { return strings.HasSuffix(w.Location, "/") }

// Reaches reports whether it may manage a path, or something below that, as far as paths tell without a host.
func (w Withheld) Reaches(top string) bool {
	p := w.Path()
	return p == "" || host.IsBelow(p, top) || w.IsTree() && host.IsBelow(top, p)
}

// Files returns what it manages below a path, as the end of a sentence about it.
func (w Withheld) Files(top string) string {
	switch p := w.Path(); {
	case p == "":
		return "may manage files at or below " + top
	case w.IsTree():
		return "may manage all below " + p
	default:
		return "manages " + p
	}
}

// TreeLocation returns the location of a path and all below it.
func TreeLocation(p string) string { return strings.TrimRight(path.Clean(p), "/") + "/" }

// A WaitError is the error of a [Generator] that leaves out removals because withheld resources may manage what would be removed. The
// engine reports its resource as skipped, but not as failed, and goes on with the dependents.
type WaitError struct{ Reason string }

// Error returns the reason.
func (e *WaitError) Error() string { return e.Reason }

// WaitFor returns a [*WaitError] that names the first of the withheld resources that may manage something to be removed, nil if none
// does. what is what is left out, and claim what the resource manages, as the end of a sentence about it.
func WaitFor(what string, withheld iter.Seq[Withheld], mayManage func(Withheld) bool, claim func(Withheld) string) error {
	var first Withheld
	n := 0
	for w := range withheld {
		if !mayManage(w) {
			continue
		}
		if n++; n == 1 {
			first = w
		}
	}
	if n == 0 {
		return nil
	}
	reason := fmt.Sprintf("%s: %s and %s", what, first, claim(first))
	if n > 1 {
		reason += fmt.Sprintf("; and %d more", n-1)
	}
	return &WaitError{reason}
}

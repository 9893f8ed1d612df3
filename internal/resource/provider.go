package resource

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Provider reads and changes one type of resource by one means. It has no state:
// one value serves every resource and run, possibly at the same time.
type Provider[A any] interface {
	// Name is what a manifest's provider attribute says.
	Name() string
	// Suits returns nil, or why the provider can't work on this host. It is asked
	// again while a run makes progress, since a resource may install what it lacks.
	// What can be said as data is for [Needing]; Suits is asked once that is met.
	Suits(facts Facts, h host.Reader) error
	// Read returns the present state of what want names, normalized. Absence is a
	// state, not an error. Fields that want leaves unmanaged may be left out.
	Read(ctx context.Context, h Reader, want A) (is A, err error)
	// Write makes these changes, and may bring others along when it creates. It is
	// never called without changes, and safe to repeat after it was interrupted.
	// Errors of single properties are PropertyErrors, joined; any other error
	// fails all of the changes.
	Write(ctx context.Context, h Writer, is, want A, changes []Change) error
}

// A Lister lists what exists on a host: for `fettle resource` and purging.
type Lister[A any] interface {
	List(ctx context.Context, h Reader) ([]A, error)
}

// A Sourced provider lists the same as others of its type with this source, as all
// tools for one package database do. The source of the others is their name.
type Sourced interface {
	Source() string
}

// A BatchReader reads many resources in one go; the results are parallel to wants.
// The engine then calls it (prefetch) instead of Read. An error is that of one resource:
// it fails no other, and that resource is read again once something has changed.
type BatchReader[A any] interface {
	ReadAll(ctx context.Context, h Reader, wants []A) []Result[A]
}

// A Result is what a [BatchReader] found: the state of one resource, or why it can't be
// read.
type Result[A any] struct {
	State A
	Err   error
}

// Unreadable are the results for n resources that can't be read for the same reason.
func Unreadable[A any](n int, err error) []Result[A] {
	results := make([]Result[A], n)
	for i := range results {
		results[i].Err = err
	}
	return results
}

// An Auditor is a provider whose Read leaves out what want does not manage, and that
// can read it all the same. The engine calls it instead of Read, and of ReadAll, where
// any properties of the resource are audited; audited has their names.
type Auditor[A any] interface {
	ReadAudited(ctx context.Context, h Reader, want A, audited []string) (is A, err error)
}

// A Write is one resource's part of a batch.
type Write[A any] struct {
	Is, Want A
	Changes  []Change
	// Note adds a line to the report of this resource, as [Reader].Note does outside a batch. It may be
	// nil: call AddNote.
	Note func(text string)
}

// AddNote adds a line to the report of the resource, if there is one. The text must hold no secret.
func (w Write[A]) AddNote(text string) {
	if w.Note != nil {
		w.Note(text)
	}
}

// A BatchWriter changes many resources in one go, where the host's own tool does:
// packages. Only resources whose ensure is out of sync and which are ready together
// come in one batch. The errors are parallel to writes; nil is success.
type BatchWriter[A any] interface {
	WriteAll(ctx context.Context, h Writer, writes []Write[A]) []error
}

// A Prechecker finds out, by reading alone, what would make writes fail: a source that is
// missing, a package that no repository has. In noop, the engine calls it instead of
// Write and WriteAll, so that a plan promises nothing that an apply can't do. The
// errors are parallel to writes; nil says that nothing speaks against one. What another
// resource of the run may put right is a [MissingError].
type Prechecker[A any] interface {
	Precheck(ctx context.Context, h Reader, writes []Write[A]) []error
}

// A MissingError is the error of a [Prechecker] about a thing that has to be there first:
// the parent directory of a file, its owner. It fails nothing if the run is to make that
// thing before. One within another names what would do as well.
type MissingError struct {
	// Kind and Name are as a resource for the thing would have them. Name is a namevar or another
	// key; one that ends in a slash stands for whatever is below that directory.
	Kind, Name string
	Err        error
}

// Error is that of what is missing.
func (e *MissingError) Error() string { return e.Err.Error() }

// Unwrap returns the error about what is missing.
func (e *MissingError) Unwrap() error { return e.Err }

// An Identifier knows when two names mean one thing on a host: two paths that meet through a
// symlink, a unit and its alias. Identities are parallel to wants; resources with the same
// one are in conflict, and "" is like no other. The engine asks before it changes anything,
// and not in a run that has nothing to change.
type Identifier[A any] interface {
	Identify(ctx context.Context, h Reader, wants []A) []string
}

// A Refresher reacts to events that a resource was notified of. is is the state
// after any write of the same run. ErrNothingToRefresh says that there was no need.
type Refresher[A any] interface {
	Refresh(ctx context.Context, h Writer, is, want A) error
}

// A Watcher knows where on a host to look for drift of what want names: paths in the
// sense of host.Watch. What no path tells of is found at the next interval.
type Watcher[A any] interface {
	Watch(h host.Reader, want A) []string
}

// A Featured provider has features that its type declares.
type Featured interface {
	Features() []Feature
}

// A Conditional provider has further features on the hosts for which a condition holds:
// what the kernel of some can do.
type Conditional interface {
	FeaturesWhere() map[Feature]Where
}

// A Needing provider says as data what it needs of a host. It does not suit one that
// lacks some of it. A provider that embeds another inherits its needs, like all its methods.
type Needing interface {
	Needs() Needs
}

// A Defaulter is the default provider on some hosts. Of the suitable ones, the one
// with the most matching facts wins, and of several such the first in the type's order. Where
// none is a default, the first suitable one is taken. A provider that embeds another of the
// same type must have Defaults of its own: [Type.Problems] finds those that are inherited.
type Defaulter interface {
	Defaults() Defaults
}

// ErrNothingToRefresh is what a Refresher returns when its state makes a refresh
// needless, as that of a service which is not running. It is no failure.
var ErrNothingToRefresh = errors.New("nothing to refresh")

// A PropertyError is the failure of one property of a write.
type PropertyError struct {
	Property string
	Err      error
}

// Error names the property.
func (e *PropertyError) Error() string {
	return fmt.Sprintf("cannot set %s: %v", e.Property, e.Err)
}

// Unwrap returns what went wrong.
func (e *PropertyError) Unwrap() error { return e.Err }

// A NoProviderError says that no provider can manage a resource on this host now.
// Another resource of the run may change that.
type NoProviderError struct {
	Kind    string
	Reasons []string // a line a provider: name and why not
	// Final says that no resource of the run can change that: every provider needs other
	// facts.
	Final bool
}

// Error gives the reason of every provider.
func (e *NoProviderError) Error() string {
	var msg strings.Builder
	msg.WriteString("cannot find a suitable provider for " + e.Kind)
	for i, r := range e.Reasons {
		msg.WriteString(map[bool]string{true: ": ", false: "; "}[i == 0] + r)
	}
	return msg.String()
}

// A Generator is a provider whose resources bring others along: a directory the files
// below it, a purge what nobody manages. The engine asks once the resource itself is
// handled, and handles each of the others as it comes, so that there may be very
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

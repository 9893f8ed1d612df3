package resource

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Provider reads and changes one type of resource by one means. It has no state: one value serves
// all resources and runs, possibly concurrently.
type Provider[A any] interface {
	// Name is the name for a manifest's provider attribute.
	Name() string
	// Suits returns nil, or why the provider can't work on this host. It is called again while a
	// run makes progress, since a resource may install the missing parts. Declare requirements as
	// data with [Needing] if possible; Suits is called once those are met.
	Suits(facts Facts, h host.Reader) error
	// Read returns the current normalized state of the object that want names. Absence is a state,
	// not an error. Fields that want leaves unmanaged may be omitted.
	Read(ctx context.Context, h Reader, want A) (is A, err error)
	// Write makes these changes, and may make others when it creates the object. It is never called
	// without changes and is safe to repeat after an interruption. Errors of single properties are
	// joined PropertyErrors; any other error fails all changes.
	Write(ctx context.Context, h Writer, is, want A, changes []Change) error
}

// A Lister lists the existing objects on a host, for `fettle resource` and for purging. With a [PartialListError], what it lists is
// right, but not all.
type Lister[A any] interface {
	List(ctx context.Context, h Reader) ([]A, error)
}

// A PartialListError is the error of a [Lister] that could not look at some objects, such as the files of one user. A Purge removes
// the others, and fails.
type PartialListError struct{ Err error }

// Error returns the text of Err.
func (e *PartialListError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PartialListError) Unwrap() error { return e.Err }

// A Sourced provider lists the same objects as other providers of its type with this source, such as
// all tools for one package database. The default source is the provider's name.
type Sourced interface {
	Source() string
}

// A BatchReader reads many resources in one call; the results are parallel to wants. The engine
// calls it instead of Read (prefetch). An error belongs to one resource and fails no other. That
// resource is read again once something has changed.
type BatchReader[A any] interface {
	ReadAll(ctx context.Context, h Reader, wants []A) []Result[A]
}

// A Result is the result of a [BatchReader] for one resource: its state, or why it can't be read.
type Result[A any] struct {
	State A
	Err   error
}

// Unreadable returns the results for n resources that can't be read for the same reason.
func Unreadable[A any](n int, err error) []Result[A] {
	results := make([]Result[A], n)
	for i := range results {
		results[i].Err = err
	}
	return results
}

// An Auditor is a provider whose Read omits properties that want does not manage, although it could
// read them. The engine calls it instead of Read and ReadAll if any properties of the resource are
// audited; audited has their names.
type Auditor[A any] interface {
	ReadAudited(ctx context.Context, h Reader, want A, audited []string) (is A, err error)
}

// A Write is the part of one resource in a batch.
type Write[A any] struct {
	Is, Want A
	Changes  []Change
	// Note adds a line to the report of this resource, as [Reader].Note does outside a batch. It
	// may be nil: call AddNote.
	Note func(text string)
}

// AddNote adds a line to the report of the resource, if there is one. The text must contain no
// secret.
func (w Write[A]) AddNote(text string) {
	if w.Note != nil {
		w.Note(text)
	}
}

// A BatchWriter changes many resources in one call, for tools such as package managers that do. A
// batch only has resources whose ensure is out of sync and which are ready at the same time. The
// errors are parallel to writes; nil is success.
type BatchWriter[A any] interface {
	WriteAll(ctx context.Context, h Writer, writes []Write[A]) []error
}

// A Prechecker finds reasons why writes would fail by reading alone, such as a missing source or a
// package that no repository has. In noop, the engine calls it instead of Write and WriteAll, so
// that a plan predicts failures. The errors are parallel to writes; nil means that no reason was
// found. Report a problem that another resource of the run may fix as a [MissingError].
type Prechecker[A any] interface {
	Precheck(ctx context.Context, h Reader, writes []Write[A]) []error
}

// A ReadPrechecker finds out whether an apply may read another state than a plan has, because of what would be changed before (see
// [Planned]): the number of a file's owner, the content of a file that a check reads, or a service that another one starts. In noop, the
// engine asks it after each read, also of what is in sync, once something is planned.
type ReadPrechecker[A any] interface {
	// PrecheckRead returns nil, an [UnknownError], or a [ProvisionalError] if any resource that this one depends on may do that.
	PrecheckRead(ctx context.Context, h Reader, is, want A) error
}

// A PreRunChecker checks whether a run may take place, for types with the trait PreRunCheck. Every
// run calls it once, noop or not, before it changes anything, with all resources that have a turn
// and for which the provider is suitable by then. The errors are parallel to wants; each fails its
// resource, and an [ObjectionError] prevents the whole run.
type PreRunChecker[A any] interface {
	PreRunCheck(ctx context.Context, h Reader, wants []A) []error
}

// An ObjectionError is why a [PreRunChecker] prevents a run.
type ObjectionError struct{ Err error }

// Error returns the text of Err.
func (e *ObjectionError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ObjectionError) Unwrap() error { return e.Err }

// An Identifier detects different names of one object on a host, such as two paths that meet through
// a symlink, or a unit and its alias. Identities are parallel to wants. Resources with the same
// identity are in conflict; "" conflicts with nothing. The engine calls it before the first change,
// and not at all in a run without changes.
type Identifier[A any] interface {
	Identify(ctx context.Context, h Reader, wants []A) []string
}

// A Refresher reacts to events that a resource was notified of. is is the state after all writes of
// the same run. It returns ErrNothingToRefresh if there was no need.
type Refresher[A any] interface {
	Refresh(ctx context.Context, h Writer, is, want A) error
}

// A RefreshPrechecker tells by reading alone what its Refresh would do. The engine calls it where a refresh is only reported, so that
// a plan announces no refresh that an apply would not make. w has the changes that an apply would make before.
type RefreshPrechecker[A any] interface {
	Refresher[A]
	// PrecheckRefresh returns ErrNothingToRefresh if there would be no need, in a [ProvisionalError] if the state of the host is the
	// reason, which others may change; an [UnknownError] if nobody can tell; otherwise why the refresh would fail, as a [Prechecker].
	PrecheckRefresh(ctx context.Context, h Reader, w Write[A]) error
}

// A Resumer takes over a Detached command that an earlier process started for a resource and did not see the end
// of. The engine calls it before it reads the resource, except in noop.
type Resumer[A any] interface {
	// Resume waits for such a command, with host.Host.Resume. It returns the state before the command and how the
	// command ended; nil if there was none, or if its end is in the state that Read finds. An error means that
	// it is unknown whether the command still runs.
	Resume(ctx context.Context, h Writer, want A) (is A, ended *Ended, err error)
}

// An Ended is a Write or a Refresh that an earlier process began.
type Ended struct {
	Job host.Job // as it was started
	Err error    // that Write or Refresh would have returned
}

// A Watcher returns the paths on a host that show drift of the object that want names, as for
// host.Watch. Drift elsewhere is detected at the next interval.
type Watcher[A any] interface {
	Watch(h host.Reader, want A) []string
}

// A Documented provider has a description for people.
type Documented interface {
	Doc() string
}

// A Featured provider has features that its type declares.
type Featured interface {
	Features() []Feature
}

// A Conditional provider has further features on the hosts that match a condition, such as features
// of some kernels.
type Conditional interface {
	FeaturesWhere() map[Feature]Where
}

// A Limited provider says what it lacks on its hosts to have the features of others: "no systemd runs on this host".
type Limited interface {
	Limit() string
}

// A Needing provider declares its requirements on a host as data. It only suits hosts that meet all
// of them. A provider that embeds another one inherits its needs, like all its methods.
type Needing interface {
	Needs() Needs
}

// A Defaulter is the default provider on some hosts. The suitable provider with the most matching
// facts wins, and among equals the first in the type's order. If no suitable provider is a default,
// the first suitable one is chosen. A provider that embeds another one of the same type must have
// Defaults of its own: [Type.Problems] reports inherited ones.
type Defaulter interface {
	Defaults() Defaults
}

// ErrNothingToRefresh is returned by a Refresher if the state makes a refresh unnecessary, such as
// for a service that is not running. It is not a failure.
var ErrNothingToRefresh = errors.New("nothing to refresh")

// A NoProviderError reports that no provider can manage a resource on this host now. Another
// resource of the run may change that.
type NoProviderError struct {
	Kind    string
	Reasons []string // one per provider: its name and the reason
	// Final means that no resource of the run can change that: every provider requires other facts.
	Final bool
}

// Error lists the reason of every provider.
func (e *NoProviderError) Error() string {
	var msg strings.Builder
	msg.WriteString("cannot find a suitable provider for " + e.Kind)
	for i, r := range e.Reasons {
		msg.WriteString(map[bool]string{true: ": ", false: "; "}[i == 0] + r)
	}
	return msg.String()
}

// A Generator is a provider whose resources generate others, such as the files below a directory or
// the unmanaged objects to purge. The engine calls it after it handled the resource itself, and
// handles the generated resources one by one, so there may be very many. It must not generate
// resources that the catalog contains: those are more specific. Generated resources share the
// resource's noop, the resource's dependents wait for them, and their events go to the resources
// that it notifies. An error ends the sequence and fails the resource, except for a [WaitError].
type Generator[A any] interface {
	Generate(ctx context.Context, h Reader, want A, others Inventory) iter.Seq2[Resource, error]
}

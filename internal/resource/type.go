// Package resource is what a resource type is written against: Puppet's Resource
// Abstraction Layer in Go's terms.
//
// A type is a value ([Type]), its attributes are a Go struct (the very one that the
// custom resource has), and a means of managing it is a [Provider]. What a provider
// can do beyond reading and writing one resource it says by implementing a small
// optional interface: [Lister], [Sourced], [BatchReader], [BatchWriter],
// [Prechecker], [Identifier], [Refresher], [Featured], [Needing], [Defaulter].
//
// A provider need not be written as one Read and one Write: [Simple] makes a Write of
// create, update and delete, and [OneByOne] one of a setter a property.
//
// Types are generic over their attributes. Package bound hides the attributes' Go
// type behind [Kind] and [Resource], which the engine and the registry use.
package resource

import (
	"context"
)

// A Type describes one kind of resource. A is its attributes: what a user writes,
// what a provider reads back, and so what the two are compared in. It must encode to
// and from JSON, and copying it must not share what Normalize changes in place.
type Type[A any] struct {
	Name       string // the API kind: SystemService
	Doc        string // Markdown; its first line is a summary
	Example    string // YAML of one or more resources that can be applied
	Features   []FeatureDoc
	Properties []Property[A] // compared, fixed and reported in this order; ensure first
	Parameters []Parameter
	Providers  []Provider[A] // in order of preference

	// From copies the attributes out of what the API has decoded, where A is more than
	// that. Optional: encoding and decoding serve as well, only slower.
	From func(api any) (A, bool)

	// Secrets set attributes, by name, to values that a manifest only refers to. From then
	// on nobody is to see such a value, and it need not be UTF-8. Optional.
	Secrets map[string]func(want *A, value string)
	// SecretEntries are to Secrets what a list is to a value: they add the entry of a list,
	// whose name follows the attribute's and a dot, as in environment.TOKEN. Optional.
	SecretEntries map[string]func(want *A, name, value string)
	// RecordSecrets records on the host what it takes to recognize the secrets of wants
	// later, when no resource says any more that they are. A run that may write calls it
	// once before it reads anything, with all resources that have a secret. Optional.
	RecordSecrets func(ctx context.Context, h Writer, wants []A) error

	// NamevarName is the namevar's attribute name, or MetadataName, and Namevar its
	// field. An empty field takes the resource's name.
	NamevarName string
	Namevar     func(*A) *string
	// Keys are further names by which autorelations find the resource, such as a
	// group's number. Optional.
	Keys func(A) []string
	// Exists reports whether a state that was read says the resource is there.
	// nil: every state does.
	Exists func(is A) bool
	// Normalize brings equal values to one form (munge). Idempotent; run on want
	// and on is. Optional.
	Normalize func(*A)
	// Default fills in what a manifest may leave out, after it was decoded and
	// before Normalize. Never run on a state that was read. Optional.
	Default func(*A)
	// OneOf are the attributes whose values are words of a list. Any other word fails the
	// resource, however it got past the CRD: no provider may take it for a default. Optional.
	OneOf []OneOf[A]
	// Validate says what the CRD's schema cannot. Its errors name the attribute,
	// the value and the fix. Optional.
	Validate func(A) error
	Auto     []AutoRelation[A]
	// Leaving says how things go away once no resource is about them. nil: they can't.
	Leaving *Leaving[A]
	// Traits are what the engine must know of the type.
	Traits
	// PreRunCheck says what keeps a whole run from taking place, before it changed
	// anything: an error fails the resource and skips all others. It is asked on the
	// host as it is then, of every run, noop or not. Optional.
	PreRunCheck func(ctx context.Context, h Reader, want A) error
}

// Traits are how the resources of a type behave in a run. Most types have none of them.
type Traits struct {
	// Imperative types run an action that leaves no trace on the host, such as a command. The engine
	// doesn't read again to verify it and remembers nothing of it, so it is never corrective.
	Imperative bool
	// SideEffects means that a write may change the state of other resources, as a package brings
	// users and services. States that were read before are then read again.
	SideEffects bool
	// ReadAhead means that a read only looks at the host, and stays true until something is written:
	// many resources may be read at once, before their turn.
	ReadAhead bool
	// SelfRefresh means that a change of the resource also refreshes it, as a notification does,
	// unless the change removes it: a file system is mounted anew.
	SelfRefresh bool
	// BatchLimit is how many resources a [BatchWriter] gets at once; they follow each other directly
	// in the run. 0 gives it all that are ready, past others too: for a tool that does better the more
	// it gets.
	BatchLimit int
}

// Abilities are the optional interfaces that a provider implements.
type Abilities struct {
	BatchRead  bool // [BatchReader]; false for a resource of which more is audited than it manages
	BatchWrite bool // [BatchWriter]
	Precheck   bool // [Prechecker]
	Identify   bool // [Identifier]
	Refresh    bool // [Refresher]
	Generate   bool // [Generator]
}

// A OneOf is an attribute that has one of some words as its value, or none.
type OneOf[A any] struct {
	Attribute string
	Value     func(*A) *string // nil where it is unmanaged
	Words     []string         // two or more
}

// MetadataName is the NamevarName of a type without an attribute for it: nothing on the
// host has a name, and resources are distinguished by their own.
const MetadataName = "metadata.name"

// A RelationKind is how an automatic relation orders two resources.
type RelationKind string

// The kinds of relations: the other one comes first (Require, Subscribe) or later
// (Before, Notify); Subscribe and Notify also carry refreshes.
const (
	Require   RelationKind = "require"
	Before    RelationKind = "before"
	Notify    RelationKind = "notify"
	Subscribe RelationKind = "subscribe"
)

// An AutoRelation relates a resource to others that happen to be in the catalog. It
// never overrides an edge that a user wrote, nor makes a cycle of two.
type AutoRelation[A any] struct {
	Relation RelationKind
	Kind     string // of the others
	// Names are the namevars (or Keys) of the others.
	Names func(want A) []string
	// Nearest takes only the first name that the catalog has, as a file requires
	// the nearest managed directory above it.
	Nearest bool
}

// Package resource is the API for resource types: Puppet's Resource Abstraction Layer in Go.
//
// A type is a value ([Type]), its attributes are a Go struct (the one of the custom resource), and
// a means of managing it is a [Provider]. A provider that can do more than read and write one
// resource implements small optional interfaces:
//
//   - [Needing], [Defaulter], [Featured], [Conditional], [Limited] and [Documented] say where it works, and what it can do there;
//   - [Lister] and [Sourced] find what exists, and [Watcher] what changes;
//   - [BatchReader] and [BatchWriter] handle many resources at once;
//   - [PreRunChecker], [Prechecker], [ReadPrechecker] and [RefreshPrechecker] predict what a run would do;
//   - [Refresher], [Generator], [Auditor], [Identifier] and [Resumer] do more than to write one resource.
//
// [Simple] makes a Write from create, update and delete functions, and [OneByOne] from one setter
// per property.
//
// Types are generic over their attributes. Package bound hides the attributes' Go
// type behind [Kind], [Resource] and [ChosenProvider], which the engine and the registry use.
package resource

import (
	"context"
)

// A Type describes one kind of resource. A holds its attributes: users write them, providers read
// them back, and the engine compares the two. A must encode to and from JSON, and a copy of it must
// not share data that Normalize changes in place.
type Type[A any] struct {
	Name       string // the API kind: SystemService
	Doc        string // Markdown; its first line is a summary
	Example    string // YAML of one or more resources that can be applied
	Features   []FeatureDoc
	Properties []Property[A] // compared, fixed and reported in this order; ensure first
	Parameters []Parameter
	Providers  []Provider[A] // in order of preference

	// From copies the attributes from the API's type if that has more fields than A. Optional: the
	// default encodes to JSON and decodes again, which is slower.
	From func(api any) (A, bool)

	// Secrets has setters, by attribute name, for values that come from a Secret. Such a value is
	// never shown, and need not be UTF-8. Optional.
	Secrets map[string]func(want *A, value string)
	// SecretEntries are Secrets for lists: each adds one entry. The entry's name follows the
	// attribute's name and a dot, as in environment.TOKEN. Optional.
	SecretEntries map[string]func(want *A, name, value string)
	// RecordSecrets records on the host the data to recognize the secrets of wants later, when no
	// resource marks them as secret any more. A run that may write calls it once, before it reads
	// anything, with all resources that have a secret. Optional.
	RecordSecrets func(ctx context.Context, h Writer, wants []A) error

	// NamevarName is the name of the namevar attribute, or MetadataName. Namevar returns its field.
	// An empty field is set to the resource's name.
	NamevarName string
	Namevar     func(*A) *string
	// Identification returns what identifies the object as users write it, for messages: zone "example.org", id "1".
	// Optional: the namevar with its name.
	Identification func(want A) string
	// CanonicalName returns the name that all spellings of the namevar of one object have in common. is is the state that
	// was read last, or zero. known is false if only a provider can tell, and is has no answer yet: see
	// [Traits].CanonicalNames. Optional: the namevar, after Normalize.
	CanonicalName func(want, is A) (name string, known bool)
	// FormerName returns the name by which earlier versions of the type stored what they remember of the object. Optional:
	// the namevar.
	FormerName func(want A) string
	// Keys returns further names by which autorelations find the resource, such as a group's
	// number. Optional.
	Keys func(A) []string
	// Location returns where on the host the object is, so that others know whether they could remove it while the resource is
	// withheld: a path, [TreeLocation] if everything below the path is managed too, or ~ and a user for something of that user's. ""
	// is unknown. The attributes may be invalid. Optional: unknown.
	Location func(want A) string
	// Exists reports whether a state that was read is that of an existing object. Default: always.
	Exists func(is A) bool
	// Normalize converts equal values to one form (munge). It must be idempotent. It runs on
	// desired and on current states. Optional.
	Normalize func(*A)
	// Default sets attributes that a manifest omits, after decoding and before Normalize. It never
	// runs on a state that was read. Optional.
	Default func(*A)
	// OneOf lists the attributes with enumerated values. Any other value fails the resource, even
	// if the CRD admitted it: no provider may take it for a default. Optional.
	OneOf []OneOf[A]
	// Validate checks rules that the CRD's schema can't express. It repeats a rule only if its violation would harm a host, since an
	// agent binds the entries of a catalog without the schema. Its errors name the attribute, the value and the fix. Optional.
	Validate func(A) error
	Auto     []AutoRelation[A]
	// Receive stores the states of the resources that relations with SendDesired find, for the
	// providers. They are in the order of the catalog, and may be none. Every run calls it before
	// anything else. Required if a relation has SendDesired.
	Receive func(want *A, related []Related)
	// Deletion declares how objects are deleted once no resource manages them. nil: they can't be
	// deleted.
	Deletion *Deletion[A]
	// Traits declare how the engine has to treat resources of the type.
	Traits
}

// Traits declare how the resources of a type behave in a run. Most types have none of them.
type Traits struct {
	// Imperative types run an action that leaves no trace on the host, such as a command. The
	// engine does not read them again to verify the action and stores no state, so they are never
	// corrective.
	Imperative bool
	// SideEffects means that a write may change the state of other resources, such as a package
	// that creates users and services. The engine then reads earlier states again.
	SideEffects bool
	// ReadAhead means that a read only inspects the host and stays valid until something is
	// written. Many resources may be read concurrently, before their turn.
	ReadAhead bool
	// SelfRefresh means that a change of the resource also refreshes it, as a notification does,
	// unless the change removes it. For example, a file system is remounted.
	SelfRefresh bool
	// PreRunCheck means that a provider may be a [PreRunChecker]. The engine then looks for a
	// provider before the run, and again at the resource's turn.
	PreRunCheck bool
	// CanonicalNames means that only providers know which spellings of a namevar mean the same object. The engine reads
	// resources of the type before the run, so that nothing relies on the spelling.
	CanonicalNames bool
	// Family is the same for types that manage the same objects, such as a type and another one with fixed values of
	// some attributes. A Purge of one spares what resources of the others manage. "" is none.
	Family string
	// BatchLimit is the maximum number of resources that a [BatchWriter] gets at once; they
	// directly follow each other in the run. 0 means all resources that are ready, regardless of
	// others between them, for tools that benefit from large batches.
	BatchLimit int
	// AtomicWrites means that other programs change its objects in one step, as by writing a file, so that drift is corrected at
	// its first sign. Others are changed in several steps, as by useradd or the restart of a service.
	AtomicWrites bool
	// BatchAll means that a [BatchWriter] also gets resources whose ensure is in sync.
	BatchAll bool
}

// Abilities are the optional interfaces that a provider implements.
type Abilities struct {
	BatchRead   bool // [BatchReader]; false for a resource whose audit needs an [Auditor]
	BatchWrite  bool // [BatchWriter]
	Precheck    bool // [Prechecker]
	PreRunCheck bool // [PreRunChecker]
	Identify    bool // [Identifier]
	Refresh     bool // [Refresher]
	Generate    bool // [Generator]
	Resume      bool // [Resumer]
}

// A OneOf is an attribute with enumerated values.
type OneOf[A any] struct {
	Attribute string
	Value     func(*A) *string // nil if unmanaged
	Words     []string         // two or more
}

// MetadataName is the NamevarName of a type without an attribute for it: its objects have no name on
// the host, so resources are distinguished by their own names.
const MetadataName = "metadata.name"

// A RelationKind is how an automatic relation orders two resources.
type RelationKind string

// The kinds of relations. The other resource comes first (Require, Subscribe) or later (Before,
// Notify). Subscribe and Notify also propagate refreshes.
const (
	Require   RelationKind = "require"
	Before    RelationKind = "before"
	Notify    RelationKind = "notify"
	Subscribe RelationKind = "subscribe"
)

// An AutoRelation relates a resource to others if they are in the catalog. It never overrides an
// edge that a user wrote and never creates a cycle.
type AutoRelation[A any] struct {
	Relation RelationKind
	Kind     string // kind of the other resources
	// Names returns the namevars (or Keys) of the other resources.
	Names func(want A) []string
	// Nearest selects only the first name that the catalog has. For example, a file requires the
	// nearest managed directory above it.
	Nearest bool
	// SendDesired passes the desired states of these resources to [Type].Receive, except for those
	// that are invalid. They stay what the catalog says, whether or not they have been applied.
	SendDesired bool
}

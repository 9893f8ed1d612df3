package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// A Kind is a [Type] whose attributes' Go type is hidden, so that types fit in one slice. Made by
// package bound. Safe for concurrent use.
type Kind interface {
	Name() string
	// NamevarName is the attribute that says which thing on a host is meant.
	NamevarName() string
	// Describe is what there is to know about the type.
	Describe() Description
	// Bind makes a resource from its attributes in JSON: decoded strictly, given
	// the type's defaults, normalized and validated. An error names the attribute,
	// the value and the fix, but a secret's.
	Bind(ref Ref, attributes json.RawMessage, secrets ...Secret) (Resource, error)
	// Adopt is Bind for attributes that were decoded already: what the API's own type for
	// the kind points to. It makes a copy of them.
	Adopt(ref Ref, attributes any, secrets ...Secret) (Resource, error)
	// Named binds what is merely to be read: no ensure, every property unmanaged.
	Named(namevar string) (Resource, error)
	// Instances lists what exists on the host, in order, by the named provider or
	// (for "") by all that suit it and can list: of those with the same source the first,
	// of instances with the same name the first, and the default provider before the
	// rest. A *NoListerError where none can list.
	Instances(ctx context.Context, facts Facts, h Reader, provider string) ([]Instance, error)
	// Leaves says that things of the kind can be removed, and brought back to what they were.
	Leaves() bool
	// Leave binds attributes that remove or restore a thing which no resource manages any more.
	Leave(ref Ref, attributes json.RawMessage) (Resource, error)
	// CheckProvider returns an error unless the kind has a provider of this name, whatever
	// the host; "" is the default one.
	CheckProvider(name string) error
	// Suitability says for each provider, in order, whether it suits the host and
	// is its default.
	Suitability(facts Facts, h host.Reader) []Suitability
	// Problems is what is wrong with the definition of the type, nil if nothing.
	Problems() error
}

// A Resource is the desired state of one thing on a host, bound to its type. The engine drives it:
// Choose, then Read (or bound.ReadAll), then Compare, and so on. It keeps the state that was read
// last. Not safe for concurrent use.
//
// Its parts are for different callers, which should ask for the part that they need.
type Resource interface {
	Identity
	Provided
	Readable
	Writable
	Auditable
	Removable
	// Generate returns what the resource generates; see [Generator].
	Generate(ctx context.Context, h Reader, c Catalog) iter.Seq2[Resource, error]
}

// An Identity is which thing a resource manages and how it relates to others. It needs no host.
type Identity interface {
	Ref() Ref
	// Namevar is the name of the thing on the host.
	Namevar() string
	// Keys are the names by which automatic relations find it: the namevar and others.
	Keys() []string
	// Relations are the automatic ones.
	Relations() []Relation
	// Traits are those of its type.
	Traits() Traits
	// HasSecret reports whether it has the value of a Secret, for bound.RecordSecrets.
	HasSecret() bool
}

// Provided is a resource that a provider manages on a host.
type Provided interface {
	// Choose picks the provider: the named one, or the default of the host. The error is a
	// *NoProviderError if that may change during the run.
	Choose(facts Facts, h host.Reader, provider string) error
	// Provider is the name of the chosen one, "" before Choose.
	Provider() string
	// Abilities are those of the chosen provider.
	Abilities() Abilities
	// Unsupported returns an error that names the attributes that the provider can't manage, or nil.
	Unsupported() error
	// Watched are the paths on the host that show drift; see [Watcher]. None before Choose.
	Watched(h host.Reader) []string
}

// Readable is a resource whose state is read and compared.
type Readable interface {
	// PreRunCheck returns why no run may take place, or nil.
	PreRunCheck(ctx context.Context, h Reader) error
	// Read reads the present state.
	Read(ctx context.Context, h Reader) error
	// Compare compares the state that was read last with the desired one.
	Compare() Comparison
	// PropertyStates are the managed properties in the type's order, as they were read last. Those
	// that are absent and have no known target are left out.
	PropertyStates() []PropertyState
	// State returns the attributes that were read last, without those that must not be shown, and
	// whether the thing exists.
	State() Instance
}

// Writable is a resource that can be changed.
type Writable interface {
	// Write makes the changes that Compare found.
	Write(ctx context.Context, h Writer, changes []Change) error
	// Refresh reacts to events.
	Refresh(ctx context.Context, h Writer) error
}

// Auditable is a resource whose properties are compared between runs.
type Auditable interface {
	// Audit selects properties by name, all of them by [AllProperties]. The error names the unknown
	// ones and those that exist.
	Audit(properties []string) error
	// Audited returns the values of the selected properties as they were read last, in the type's
	// order. A sensitive value is replaced by its digest with key.
	Audited(key []byte) []AuditedValue
}

// Removable is a resource whose thing is removed or restored once no resource manages it.
type Removable interface {
	// Gone returns attributes that remove the thing. An error if things of the kind can't be removed.
	Gone() (json.RawMessage, error)
	// Former returns the attributes, by name, that bring back what these changes replace in the state
	// that was read last, without secrets. It keeps content in the bucket.
	Former(ctx context.Context, h Writer, changes []Change) (map[string]json.RawMessage, error)
}

// An Instance is a resource as it is on a host.
type Instance struct {
	Namevar    string
	Provider   string // that found it
	Exists     bool
	Attributes json.RawMessage // decodes into the type's attributes
	// Lossy says that some text of it is not UTF-8: it is not the same in Attributes.
	Lossy bool
}

// A Relation is an automatic relation of one resource, by the others' keys.
type Relation struct {
	Relation RelationKind
	Kind     string
	Names    []string
	Nearest  bool
}

// A Comparison is how a state differs from what should be.
type Comparison struct {
	// Exists is whether the resource is there.
	Exists bool
	// Changes are the properties to fix, in the type's order: ensure alone when it
	// is out of sync, none when the resource neither exists nor should.
	Changes []Change
	// Observed has the shown value of every managed property that is not
	// sensitive: what drift is told from between runs.
	Observed map[string]string
}

// A NoListerError says that a provider can't list what exists.
type NoListerError struct{ Kind, Provider string }

// Error names the provider and the fix.
func (e *NoListerError) Error() string {
	return fmt.Sprintf("cannot list all of kind %s: provider %s can't; give a name", e.Kind, e.Provider)
}

// A Description is what there is to know about a type.
type Description struct {
	Name, Doc, Example string
	Namevar            string         // an attribute, or MetadataName
	Attributes         []AttributeDoc // the namevar first, then properties, then parameters
	Features           []FeatureDoc
	Providers          []string
}

// An AttributeDoc describes an attribute.
type AttributeDoc struct {
	Name, Doc string
	Property  bool // compared and fixed; otherwise a parameter
	Feature   Feature
	Sensitive bool // never to be shown
	ReadOnly  bool // no attribute, but can be audited
}

// AllProperties stands for every property where names of them are chosen to be audited.
const AllProperties = "all"

// An AuditedValue is the value of a property that is audited. "" reads as absent.
type AuditedValue struct {
	Property string
	// Value for people or, of a sensitive property, its digest, which tells a change
	// and nothing else.
	Value     string
	Sensitive bool
}

// PropertyState is one managed property of a resource, for people who debug. "" is absent. A
// value that must not be shown is [redact.Mark].
type PropertyState struct {
	Property   string
	Current    string // as the provider read it
	Normalized string // Current in the form that is compared
	Target     string // in the same form
}

// A BatchItem is one resource of a batch and its changes.
type BatchItem struct {
	Resource Resource
	Changes  []Change
	Note     func(text string) // receives what the provider adds to the report; optional
}

// A Secret is the value of an attribute that a manifest only refers to. It prints as a
// mark.
type Secret struct{ Attribute, Value string }

// Format writes a mark instead of the value, whatever the verb.
func (s Secret) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte(s.Attribute + " " + redact.Mark)) // as all that is formatted
}

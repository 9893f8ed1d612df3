package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// ErrUnknownAttribute is the error of [Kind.Bind] for an attribute that the kind does not have.
var ErrUnknownAttribute = errors.New("unknown attribute")

// A Kind is a [Type] that hides the Go type of its attributes, so that types fit in one slice. Made
// by package bound. Safe for concurrent use.
type Kind interface {
	Name() string
	// NamevarName returns the name of the attribute that identifies the thing on a host.
	NamevarName() string
	// Traits returns the traits of the type.
	Traits() Traits
	// Describe returns the documentation of the type.
	Describe() Description
	// Bind makes a resource from attributes in JSON. It decodes them strictly, applies the type's
	// defaults, normalizes and validates. An error names the attribute, the value and the fix, but
	// never quotes the value of a secret.
	Bind(ref Ref, attributes json.RawMessage, secrets ...Secret) (Resource, error)
	// Adopt is Bind for attributes that are already decoded into the API's type of the kind. It
	// copies them.
	Adopt(ref Ref, attributes any, secrets ...Secret) (Resource, error)
	// Named binds a resource that is only read: without ensure and with every property unmanaged.
	Named(namevar string) (Resource, error)
	// Instances lists the existing things on the host, sorted by name. provider selects one
	// provider; "" uses all suitable providers that can list. Only the first of several providers
	// with the same source lists, and the first of several instances with the same name wins; the
	// default provider comes before the others. The error is a *NoListerError if no provider can
	// list.
	Instances(ctx context.Context, facts Facts, h Reader, provider string) ([]Instance, error)
	// Leaves reports whether things of the kind can be removed and restored.
	Leaves() bool
	// Leave binds attributes that remove or restore a thing that no resource manages any more.
	Leave(ref Ref, attributes json.RawMessage) (Resource, error)
	// Location returns where a resource with these attributes, in JSON or in the API's type, manages something: see
	// [Type].Location. They may be invalid.
	Location(ref Ref, attributes any) string
	// CheckProvider returns an error unless the kind has a provider of this name, on whatever host;
	// "" is the default provider.
	CheckProvider(name string) error
	// Suitability reports for each provider, in order, whether it suits the host and whether it is
	// the host's default.
	Suitability(facts Facts, h host.Reader) []Suitability
	// Problems returns everything that is wrong with the definition of the type, or nil.
	Problems() error
}

// A Resource is the desired state of one thing on a host, bound to its type. The engine calls
// Choose, then Read (or bound.ReadAll), then Compare, and so on. A Resource stores the state that
// was read last. Not safe for concurrent use.
//
// Its parts serve different callers. Ask for the smallest part that you need.
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

// An Identity identifies the thing that a resource manages and relates it to others. It needs no
// host.
type Identity interface {
	Ref() Ref
	// Namevar returns the name of the thing on the host, as the resource spells it.
	Namevar() string
	// Identification returns what identifies the thing, for messages: path "/etc/motd".
	Identification() string
	// CanonicalName returns the name that is the same for all spellings of the namevar. It identifies the thing; the
	// namevar does not.
	CanonicalName() string
	// IsNamed reports whether CanonicalName is final. With the trait CanonicalNames, it is once a provider has told the name,
	// as a part of Read or bound.ReadAll.
	IsNamed() bool
	// CanonicalOf returns the canonical name for another namevar of the kind, as far as the type knows without a host.
	CanonicalOf(namevar string) string
	// FormerName returns the name by which earlier versions of Fettle stored what they remember of the thing.
	FormerName() string
	// Location returns where on the host the thing is: see [Type].Location.
	Location() string
	// Keys returns the names by which automatic relations find the resource: the canonical name, the namevar and
	// others.
	Keys() []string
	// Relations returns the automatic relations.
	Relations() []Relation
	// Desired returns the part of the desired state that providers of other resources may see.
	Desired() Related
	// Receive replaces the states of the resources that relations with SendDesired find.
	Receive(related []Related)
	// Traits returns the traits of its type.
	Traits() Traits
	// HasSecret reports whether the resource has the value of a Secret, for bound.RecordSecrets.
	HasSecret() bool
}

// Provided is a resource that a provider manages on a host.
type Provided interface {
	// Choose chooses the provider: the named one, or the default of the host. The error is a
	// *NoProviderError if that may change during the run.
	Choose(facts Facts, h host.Reader, provider string) error
	// Provider returns the name of the chosen provider, "" before Choose.
	Provider() string
	// Abilities returns the abilities of the chosen provider.
	Abilities() Abilities
	// Unsupported returns an error that names the attributes that the provider can't manage, or nil.
	Unsupported() error
	// Watched returns the paths on the host that show drift; see [Watcher]. It is empty before
	// Choose.
	Watched(h host.Reader) []string
}

// Readable is a resource whose state is read and compared.
type Readable interface {
	// Read reads the current state.
	Read(ctx context.Context, h Reader) error
	// Forget drops what was read, with the name that a provider has told, as if the resource had just been bound.
	Forget()
	// PrecheckRead returns whether an apply may read another state; see [ReadPrechecker].
	PrecheckRead(ctx context.Context, h Reader) error
	// Compare compares the state that was read last with the desired state.
	Compare() Comparison
	// PropertyStates returns the managed properties as they were read last, in the type's order. It
	// omits properties that are absent and have no known target.
	PropertyStates() []PropertyState
	// State returns the attributes that were read last, except those that must not be shown, and
	// whether the thing exists.
	State() Instance
}

// Writable is a resource that can be changed.
type Writable interface {
	// Write makes the changes that Compare found.
	Write(ctx context.Context, h Writer, changes []Change) error
	// Made returns the changes that a Write made of those that were planned, by the states that were read before and after it.
	// A property whose value is the same was not changed. The desired value is shown as it turned out.
	Made(planned []Change) []Change
	// Refresh reacts to events.
	Refresh(ctx context.Context, h Writer) error
	// PrecheckRefresh returns what Refresh would find; see [RefreshPrechecker]. It is nil if the provider can't tell.
	PrecheckRefresh(ctx context.Context, h Reader, changes []Change) error
	// Resume takes over what an earlier process began; see [Resumer]. It stores the state like Read unless it returns
	// nil.
	Resume(ctx context.Context, h Writer) (*Ended, error)
}

// Auditable is a resource whose properties are compared between runs.
type Auditable interface {
	// Audit selects properties by name; [AllProperties] selects all of them. The error names the
	// unknown properties and the existing ones.
	Audit(properties []string) error
	// Audited returns the values of the selected properties as they were read last, in the type's
	// order. A sensitive value is replaced by its digest with key.
	Audited(key []byte) []AuditedValue
}

// Removable is a resource whose thing can be removed or restored once no resource manages it.
type Removable interface {
	// Gone returns the attributes that remove the thing. It returns an error if things of the kind
	// can't be removed.
	Gone() (json.RawMessage, error)
	// Former returns the attributes, by name, that restore what these changes replace in the state
	// that was read last, without secrets. It saves the content that they refer to in the bucket.
	Former(ctx context.Context, h Writer, changes []Change) (map[string]json.RawMessage, error)
}

// An Instance is the state of a thing on a host.
type Instance struct {
	Namevar string
	// CanonicalName is as that of a resource, as far as the type knows it without a host.
	CanonicalName string
	Provider      string // the provider that found it
	Exists        bool
	Attributes    json.RawMessage // decodes into the type's attributes
	// Lossy means that some of its text is not UTF-8, so Attributes does not represent it exactly.
	Lossy bool
}

// A Relation is an automatic relation from one resource to the others with these keys.
type Relation struct {
	Relation RelationKind
	Kind     string
	Names    []string
	Nearest  bool
	// SendDesired asks for the desired states of the others: see [Identity].Receive.
	SendDesired bool
}

// Related is a resource of the catalog as providers of other resources may see it.
type Related struct {
	Kind string
	Name string // the namevar
	// Should is the desired state: attributes by name, in JSON. It has the managed properties and the
	// public parameters, but no value that is sensitive, private or from a Secret.
	Should map[string]json.RawMessage
	// Omitted has the names of attributes that are set, but not in Should because others must not see
	// them or because they are too large, sorted.
	Omitted []string
}

// Within returns r without the values that exceed a size in bytes, all together, and the size that is
// left. It does not change r.
func (r Related) Within(size int) (Related, int) {
	kept := make(map[string]json.RawMessage, len(r.Should))
	omitted := slices.Clone(r.Omitted)
	for _, name := range slices.Sorted(maps.Keys(r.Should)) {
		if value := r.Should[name]; len(value) <= size {
			kept[name], size = value, size-len(value)
		} else {
			omitted = append(omitted, name)
		}
	}
	slices.Sort(omitted)
	r.Should, r.Omitted = kept, omitted
	return r, size
}

// A Comparison is the difference between the current and the desired state.
type Comparison struct {
	// Exists reports whether the thing exists.
	Exists bool
	// Changes are the properties to fix, in the type's order: only ensure if it is out of sync;
	// none if the thing neither exists nor should.
	Changes []Change
	// Observed has the displayed value of every managed property that is not sensitive. Later runs
	// detect drift by it.
	Observed map[string]string
}

// A NoListerError reports that a provider can't list existing things.
type NoListerError struct{ Kind, Provider string }

// Error names the provider and the fix.
func (e *NoListerError) Error() string {
	return fmt.Sprintf("cannot list all of kind %s: provider %s can't; give a name", e.Kind, e.Provider)
}

// An OtherNameError reports that a provider was asked about a thing and answered with the name of another one, which it means
// by both.
type OtherNameError struct{ Reason string }

func (e *OtherNameError) Error() string { return e.Reason }

// A Description documents a type.
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
	Sensitive bool // must never be shown
	ReadOnly  bool // not an attribute, but can be audited
}

// AllProperties selects every property for an audit.
const AllProperties = "all"

// An AuditedValue is the value of an audited property. "" means absent.
type AuditedValue struct {
	Property string
	// Value is the displayed value or, for a sensitive property, its digest, which only reveals
	// that the value changed.
	Value     string
	Sensitive bool
}

// PropertyState is the state of one managed property, for debugging. "" means absent. A value that
// must not be shown is [redact.Mark].
type PropertyState struct {
	Property   string
	Current    string // as the provider read it
	Normalized string // Current, normalized for the comparison
	Target     string // normalized as well
}

// A BatchItem is one resource of a batch and its changes.
type BatchItem struct {
	Resource Resource
	Changes  []Change
	Note     func(text string) // receives the provider's notes for the report; optional
}

// A Secret is the value of an attribute that a manifest only refers to. It prints as a mark.
type Secret struct{ Attribute, Value string }

// Format writes a mark instead of the value, for every verb.
func (s Secret) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte(s.Attribute + " " + redact.Mark)) // as all that is formatted
}

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
	// NamevarName returns the name of the attribute that identifies the object on a host.
	NamevarName() string
	// CanonicalName returns the canonical name for a namevar, as far as the type knows it without a host.
	CanonicalName(namevar string) string
	// Traits returns the traits of the type.
	Traits() Traits
	// Describe returns the documentation of the type.
	Describe() Description
	// Problems returns everything that is wrong with the definition of the type, or nil.
	Problems() error

	// Bind makes a resource from attributes in JSON. It decodes them strictly, applies the type's
	// defaults, normalizes and validates. An error names the attribute, the value and the fix, but
	// never quotes the value of a secret.
	Bind(ref Ref, attributes json.RawMessage, secrets ...Secret) (Resource, error)
	// BindTyped is Bind for attributes that are already decoded into the API's type of the kind. It
	// copies them.
	BindTyped(ref Ref, attributes any, secrets ...Secret) (Resource, error)
	// BindDeletion binds attributes that delete or restore an object that no resource manages any more: see
	// [Resource].DeleteAttributes.
	BindDeletion(ref Ref, attributes json.RawMessage) (Resource, error)
	// Named binds a resource that is only read: without ensure and with every property unmanaged.
	Named(namevar string) (Resource, error)
	// Location returns where a resource with these attributes, in JSON or in the API's type, manages something: see
	// [Type].Location. They may be invalid.
	Location(ref Ref, attributes any) string

	// CheckProvider returns an error unless the kind has a provider of this name, on whatever host;
	// "" is the default provider.
	CheckProvider(name string) error
	// Suitability reports for each provider, in order, whether it suits the host and whether it is
	// the host's default.
	Suitability(facts Facts, h host.Reader) []Suitability
	// Instances lists the existing objects on the host, sorted by name. provider selects one
	// provider; "" uses all suitable providers that can list. Only the first of several providers
	// with the same source lists, and the first of several instances with the same name wins; the
	// default provider comes before the others. The error is a *NoListerError if no provider can
	// list.
	Instances(ctx context.Context, facts Facts, h Reader, provider string) ([]Instance, error)
	// RecordSecrets records resources of the kind, for all of which HasSecret must be true, as secret
	// on the host: see [Type].RecordSecrets.
	RecordSecrets(ctx context.Context, h Writer, all []Resource) error
}

// A Resource is the desired state of one object on a host, bound to its type. Like [Kind], it is an interface only to
// hide the Go type of the attributes; package bound implements it.
//
// It goes through three stages. Once it is bound, it has names and relations. Once it has a provider, by Choose or Use, it can be
// read, alone or with others by the provider's ReadAll. It stores the state that was read last, which Compare, Write and the
// methods after them use. Not safe for concurrent use.
type Resource interface {
	// The following methods need no host.

	Ref() Ref
	Kind() Kind
	// Traits returns the traits of its type.
	Traits() Traits
	// Namevar returns the name of the object on the host, as the resource spells it.
	Namevar() string
	// CanonicalName returns the name that is the same for all spellings of the namevar. It identifies the object; the
	// namevar does not.
	CanonicalName() string
	// IsNamed reports whether CanonicalName is final. With the trait CanonicalNames, it is once a provider has told the name,
	// when it read the object.
	IsNamed() bool
	// FormerName returns the name by which earlier versions of Fettle stored what they remember of the object.
	FormerName() string
	// Identification returns what identifies the object, for messages: path "/etc/motd".
	Identification() string
	// Location returns where on the host the object is: see [Type].Location.
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
	// HasSecret reports whether the resource has the value of a Secret, for [Kind].RecordSecrets.
	HasSecret() bool
	// Audit selects properties to audit by name; [AllProperties] selects all of them. The error names the
	// unknown properties and the existing ones.
	Audit(properties []string) error
	// DeleteAttributes returns the attributes that delete the object, for [Kind].BindDeletion. It returns an error if
	// objects of the kind can't be deleted.
	DeleteAttributes() (json.RawMessage, error)

	// Choose chooses the provider: the named one, or the default of the host. The error is a
	// *NoProviderError if that may change during the run.
	Choose(facts Facts, h host.Reader, provider string) error
	// Use gives the resource the provider of another one, so that suitability is not checked again for each of thousands. It
	// does nothing and returns false if that is of another type.
	Use(provider ChosenProvider) bool
	// Provider returns the provider. Before Choose and Use it has no name.
	Provider() ChosenProvider

	// The following methods need a provider.

	// Abilities returns the abilities of the provider for this resource; none before Choose.
	Abilities() Abilities
	// Unsupported returns an error that names the attributes that the provider can't manage, or nil.
	Unsupported() error
	// Watched returns the paths on the host that show drift; see [Watcher]. It is empty before
	// Choose.
	Watched(h host.Reader) []string

	// Read reads the current state.
	Read(ctx context.Context, h Reader) error
	// Resume takes over what an earlier process began; see [Resumer]. It stores the state like Read unless it returns
	// nil.
	Resume(ctx context.Context, h Writer) (*Ended, error)
	// Forget drops what was read, with the name that a provider has told, as if the resource had just been bound.
	Forget()

	// The following methods are about the state that was read last.

	// State returns the attributes that were read, except those that must not be shown, and
	// whether the object exists.
	State() Instance
	// Compare compares the state with the desired state.
	Compare() Comparison
	// PropertyStates returns the managed properties, in the type's order. It
	// omits properties that are absent and have no known target.
	PropertyStates() []PropertyState
	// Audited returns the values of the properties that Audit selected, in the type's
	// order. A sensitive value is replaced by its digest with key.
	Audited(key []byte) []AuditedValue
	// PrecheckRead returns whether an apply may read another state; see [ReadPrechecker].
	PrecheckRead(ctx context.Context, h Reader) error
	// RestoreAttributes returns the attributes, by name, that restore what these changes replace,
	// without secrets. It saves the content that they refer to in the bucket.
	RestoreAttributes(ctx context.Context, h Writer, changes []Change) (map[string]json.RawMessage, error)
	// Planned returns these changes as a [Write], for [Planned].
	Planned(changes []Change) any
	// Write makes the changes that Compare found.
	Write(ctx context.Context, h Writer, changes []Change) error
	// Made returns the changes that a Write made of those that were planned, by the states that were read before and after it.
	// A property whose value is the same was not changed. The desired value is shown as it turned out.
	Made(planned []Change) []Change
	// PrecheckRefresh returns what Refresh would find; see [RefreshPrechecker]. It is nil if the provider can't tell.
	PrecheckRefresh(ctx context.Context, h Reader, changes []Change) error
	// Refresh reacts to events.
	Refresh(ctx context.Context, h Writer) error
	// Generate returns what the resource generates; see [Generator].
	Generate(ctx context.Context, h Reader, others Inventory) iter.Seq2[Resource, error]
}

// A ChosenProvider is the [Provider] of resources of one kind on a host. Its methods make one call for many resources, each of
// which has this provider and the ability that the method needs. Their errors are parallel to the resources; nil is success.
// A panic of the provider or a wrong number of results is the error of all of them. For no resource, there is no call.
type ChosenProvider interface {
	// Name returns its name, "" if there is none.
	Name() string
	// PreRunCheck returns why resources fail before the run; see [PreRunChecker].
	PreRunCheck(ctx context.Context, h Reader, all []Resource) []error
	// Identify returns the identities of resources, parallel to them; see [Identifier]. The error is a bug in the provider.
	Identify(ctx context.Context, h Reader, all []Resource) ([]string, error)
	// ReadAll reads resources; see [BatchReader].
	ReadAll(ctx context.Context, h Reader, all []Resource) []error
	// Precheck returns why writes would fail; see [Prechecker].
	Precheck(ctx context.Context, h Reader, all []BatchItem) []error
	// WriteAll writes resources; see [BatchWriter].
	WriteAll(ctx context.Context, h Writer, all []BatchItem) []error
}

// An Instance is the state of an object on a host.
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
	// SendDesired asks for the desired states of the others: see [Resource].Receive.
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
	// Exists reports whether the object exists.
	Exists bool
	// Changes are the properties to fix, in the type's order: only ensure if it is out of sync;
	// none if the object neither exists nor should.
	Changes []Change
	// Observed has the displayed value of every managed property that is not sensitive. Later runs
	// detect drift by it.
	Observed map[string]string
}

// A NoListerError reports that a provider can't list existing objects.
type NoListerError struct{ Kind, Provider string }

// Error names the provider and the fix.
func (e *NoListerError) Error() string {
	return fmt.Sprintf("cannot list all of kind %s: provider %s can't; give a name", e.Kind, e.Provider)
}

// An OtherNameError reports that a provider was asked about an object and answered with the name of another one, which it means
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

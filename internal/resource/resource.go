package resource

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
)

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
	// Generate returns what the resource generates; see [Generator].
	Generate(ctx context.Context, h Reader, others Inventory) iter.Seq2[Resource, error]

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

// A BatchItem is one resource of a batch and its changes.
type BatchItem struct {
	Resource Resource
	Changes  []Change
	Note     func(text string) // receives the provider's notes for the report; optional
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

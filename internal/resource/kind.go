package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// A Secret is the value of an attribute that a manifest only refers to. It prints as a mark.
type Secret struct{ Attribute, Value string }

// Format writes a mark instead of the value, for every verb.
func (s Secret) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte(s.Attribute + " " + redact.Mark)) // as all that is formatted
}

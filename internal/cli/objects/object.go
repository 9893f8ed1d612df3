package objects

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	jsonutil "sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/internal/source"
)

// An Object can be applied.
type Object struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       map[string]any `json:"spec"`
}

// A List is several of them.
type List struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Items      []Object `json:"items"`
}

// NewList returns an empty list.
func NewList() List { return List{APIVersion: "v1", Kind: "List", Items: []Object{}} }

func newObject(kind, name, provider string, attributes json.RawMessage) (Object, error) {
	o := Object{APIVersion: v1alpha1.GroupVersionOf(kind).String(), Kind: kind, Metadata: map[string]any{"name": name}}
	if err := jsonutil.UnmarshalCaseSensitivePreserveInts(attributes, &o.Spec); err != nil {
		return o, err
	}
	if v1alpha1.IsExternal(o.APIVersion) {
		properties := o.Spec
		o.Spec = map[string]any{"properties": properties}
		if ensure, ok := properties[resource.Ensure]; ok {
			o.Spec[resource.Ensure] = ensure
			delete(properties, resource.Ensure)
		}
	}
	o.Spec["nodeSelector"] = map[string]any{}
	if provider != "" {
		o.Spec["provider"] = provider
	}
	return o, nil
}

// New makes an object of an instance, without its sensitive attributes, because output ends up in files and logs, and
// without those that no manifest can set. It names the provider unless that is the host's default.
func New(k resource.Kind, i resource.Instance, defaultProvider string) (Object, error) {
	provider := i.Provider
	if provider == defaultProvider {
		provider = ""
	}
	var hidden []string
	for _, at := range k.Describe().Attributes {
		if at.Sensitive {
			hidden = append(hidden, at.Name)
		}
	}
	o, err := newObject(k.Name(), Name(i.Namevar), provider, redact.Attributes(i.Attributes, hidden))
	if err != nil {
		return o, err
	}
	properties, _ := o.Spec["properties"].(map[string]any) // of an external type
	for _, at := range k.Describe().Attributes {
		if at.ReadOnly {
			delete(properties, at.Name)
		}
	}
	return o, nil
}

// Bind binds attributes as those of a manifest: the definition of the kind in the API checks them before the kind does, and an external
// type has its defaults. Only the kind lists its attributes for an unknown one.
func Bind(ctx context.Context, types manifest.Types, k resource.Kind, item resource.Item, attributes json.RawMessage) (resource.Resource, error) {
	external := types.Of(k.Name()) != nil
	bound, err := k.Bind(item.Ref, attributes)
	if errors.Is(err, resource.ErrUnknownAttribute) {
		return nil, err
	}
	if v1alpha1.NewResource(item.Ref.Kind) == nil && !external { // the API lacks the kind
		return bound, err
	}
	r, invalid := manifestOf(ctx, types, item, attributes)
	switch {
	case invalid != nil:
		return nil, invalid
	case external:
		return k.BindTyped(item.Ref, r.GetAttributes())
	}
	return bound, err
}

// Existing binds a resource of an external type that is only read. A program gets what identifies it, and the Parameters. Both must be valid.
func Existing(ctx context.Context, types manifest.Types, k resource.Kind, item resource.Item, attributes json.RawMessage) (resource.Resource, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(attributes, &all); err != nil {
		return nil, err
	}
	all[resource.Ensure] = json.RawMessage(`"` + resource.Absent + `"`) // nothing else is required then
	attributes, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	r, err := manifestOf(ctx, types, item, attributes)
	if err != nil {
		return nil, err
	}
	values, _ := r.GetAttributes().(v1alpha1.ExternalValues)
	for _, at := range types.Of(k.Name()).Spec.Attributes {
		if !isIdentifying(&at) {
			delete(values.Values, at.Name) // a default
		}
	}
	return k.BindTyped(item.Ref, values)
}

// manifestOf returns the resource that a manifest with these attributes describes, with defaults. The error names attributes.
func manifestOf(ctx context.Context, types manifest.Types, item resource.Item, attributes json.RawMessage) (v1alpha1.Resource, error) {
	o, err := newObject(item.Ref.Kind, item.Ref.Name, item.Provider, attributes)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	read := func(context.Context) ([]byte, error) { return raw, nil }
	set := types.Read(ctx, []source.Source{{Name: item.Ref.String(), Read: read}}, nil)
	var errs []error
	for _, f := range set.Faults {
		errs = append(errs, fmt.Errorf("%s: %s", item.Ref, strings.TrimPrefix(strings.TrimPrefix(f.Message, "spec."), "properties.")))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return set.Documents[0].Resource, nil
}

// notInNames matches what object names can't contain. It is never changed.
var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)

// Name turns a name on a host into a valid object name: /etc/motd becomes etc-motd. If that loses
// information, a hash keeps names distinct.
func Name(namevar string) string {
	lower := strings.ToLower(namevar)
	name := strings.Trim(notInNames.ReplaceAllString(lower, "-"), "-.")
	if name == namevar && len(name) <= 253 {
		return name
	}
	if "/"+strings.ReplaceAll(name, "-", "/") == namevar && len(name) <= 253 {
		return name
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(namevar)))[:8]
	if name == "" {
		return hash
	}
	return strings.TrimRight(name[:min(len(name), 200)], "-.") + "-" + hash
}

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

// Check returns an error if no manifest could have these attributes. Kinds that the API lacks are not checked.
func Check(ctx context.Context, types manifest.Types, item resource.Item, attributes json.RawMessage) error {
	if v1alpha1.NewResource(item.Ref.Kind) == nil && types.Of(item.Ref.Kind) == nil {
		return nil
	}
	o, err := newObject(item.Ref.Kind, item.Ref.Name, item.Provider, attributes)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	read := func(context.Context) ([]byte, error) { return raw, nil }
	var errs []error
	for _, f := range types.Read(ctx, []source.Source{{Name: item.Ref.String(), Read: read}}, nil).Faults {
		errs = append(errs, fmt.Errorf("%s: %s", item.Ref, strings.TrimPrefix(strings.TrimPrefix(f.Message, "spec."), "properties.")))
	}
	return errors.Join(errs...)
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

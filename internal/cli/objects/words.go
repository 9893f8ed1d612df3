// Package objects converts between command-line arguments, instances on a host, and objects that can be applied.
package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Attributes turns ATTRIBUTE=VALUE words into the attributes of a resource as JSON. d is the definition of an external
// type; nil for built-in kinds.
func Attributes(k resource.Kind, d *definition.Definition, namevar string, words []string) (json.RawMessage, error) {
	all := map[string]any{k.Describe().Namevar: namevar}
	value := value
	if d != nil {
		all = namevars(d, namevar)
		value = func(_ resource.Kind, attribute, text string) (any, error) { return externalValue(d, attribute, text) }
	}
	delete(all, resource.MetadataName) // not an attribute: it is the name of the resource itself
	for _, w := range words {
		attribute, text, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not ATTRIBUTE=VALUE", w)
		}
		v, err := value(k, attribute, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
		all[attribute] = v
	}
	return json.Marshal(all)
}

// namevars splits the name of a resource of an external type into its Namevars.
func namevars(d *definition.Definition, name string) map[string]any {
	all := map[string]any{}
	of := d.Namevars()
	parts, ok := d.Split(name)
	if !ok {
		parts = []string{name} // the others are reported as missing
	}
	for i, part := range parts {
		all[of[i].Name], _ = externalValue(d, of[i].Name, part) // any other value is reported with its type
	}
	return all
}

// externalValue returns the interpretation of a text that has the type of an attribute. An attribute that the type lacks
// has any type: it is reported later. Of several types, one other than text comes first.
func externalValue(d *definition.Definition, attribute, text string) (any, error) {
	i := slices.IndexFunc(d.Spec.Attributes, func(a v1alpha1.ExternalAttribute) bool { return a.Name == attribute })
	if i < 0 || slices.Equal(definition.Types(&d.Spec.Attributes[i]), []string{"string"}) {
		return text, nil
	}
	at := &d.Spec.Attributes[i]
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return nil, manifest.Explain(err)
	}
	if _, list := v.([]any); definition.SchemaType(at) == "array" && !list {
		all := interpretations(text)
		return all[len(all)-1], nil
	}
	if !definition.Fits(at, v) && definition.Fits(at, text) {
		return text, nil
	}
	return v, nil
}

// value returns the first interpretation of a text that has the attribute's type. An attribute that the kind lacks
// has any type: binding all of them reports it.
func value(k resource.Kind, attribute, text string) (any, error) {
	var first error
	for _, v := range interpretations(text) {
		raw, err := json.Marshal(map[string]any{attribute: v})
		if err != nil {
			return nil, err
		}
		_, err = k.Bind(resource.Ref{Kind: k.Name()}, raw)
		if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); !mistyped {
			return v, nil
		}
		if first == nil {
			first = manifest.Explain(err)
		}
	}
	return nil, first
}

// interpretations are a number, boolean or [list] in YAML, the text itself, and words separated by commas.
func interpretations(text string) []any {
	words := []string{}
	if text != "" {
		words = strings.Split(text, ",")
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err == nil {
		switch v.(type) {
		case float64, int64, bool, []any:
			return []any{v, text, words}
		}
	}
	return []any{text, words}
}

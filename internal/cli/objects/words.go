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
	all, err := valuesOf(k, d, words)
	switch of := k.Describe().Namevar; {
	case err != nil:
		return nil, err
	case d != nil:
		err = identify(d, namevar, all)
	case of != resource.MetadataName: // that is not an attribute, but the name of the resource itself
		if _, set := all[of]; !set {
			all[of] = namevar
		}
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

func valuesOf(k resource.Kind, d *definition.Definition, words []string) (map[string]any, error) {
	value := value
	if d != nil {
		value = func(_ resource.Kind, attribute, text string) (any, error) { return externalValue(d, attribute, text) }
	}
	all := map[string]any{}
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
	return all, nil
}

// Identifies reports whether ATTRIBUTE=VALUE words only say which resource of an external type is meant, and how to reach it: they are
// Namevars and Parameters.
func Identifies(d *definition.Definition, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return !slices.ContainsFunc(d.Spec.Attributes, func(at v1alpha1.ExternalAttribute) bool { return at.Name == name && isIdentifying(&at) })
	})
}

func isIdentifying(at *v1alpha1.ExternalAttribute) bool {
	return at.Behaviour == v1alpha1.BehaviourNamevar || at.Behaviour == v1alpha1.BehaviourParameter
}

// identify sets the Namevars of an external type that are not set from a name: the only one, or several, separated.
func identify(d *definition.Definition, name string, values map[string]any) error {
	all := d.Namevars()
	open := slices.DeleteFunc(slices.Clone(all), func(at v1alpha1.ExternalAttribute) bool { return values[at.Name] != nil })
	parts, whole := d.Split(name)
	switch {
	case len(open) == len(all) && !whole:
		parts = []string{name}
	case len(open) == len(all):
	case len(open) > 0:
		parts = strings.SplitN(name, d.Spec.NamevarSeparator, len(open))
	case d.NameOf(values) != name:
		return fmt.Errorf("the name %q is another one than that of the attributes, %q: leave out one of them", name, d.NameOf(values))
	}
	for i, at := range open {
		if i < len(parts) {
			values[at.Name], _ = externalValue(d, at.Name, parts[i]) // any other value is reported with its type
		} else if at.Default == "" {
			return missing(d, at.Name)
		}
	}
	return nil
}

func missing(d *definition.Definition, namevar string) error {
	var names, form []string
	for _, at := range d.Namevars() {
		names, form = append(names, at.Name), append(form, strings.ToUpper(at.Name))
	}
	return fmt.Errorf("%s is missing: a %s is identified by %s; add %s=VALUE, or write the name as %s",
		namevar, d.Spec.Kind, strings.Join(names, " and "), namevar, strings.Join(form, d.Spec.NamevarSeparator))
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

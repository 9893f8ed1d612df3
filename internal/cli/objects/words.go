// Package objects converts between command-line arguments, instances on a host, and objects that can be applied.
package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Attributes turns ATTRIBUTE=VALUE words into the attributes of a resource as JSON.
func Attributes(k resource.Kind, namevar string, words []string) (json.RawMessage, error) {
	all := map[string]any{k.Describe().Namevar: namevar}
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

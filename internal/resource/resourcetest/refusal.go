package resourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// The law of what a type refuses.
type refusal[A any] struct {
	typ *resource.Type[A]
	c   Case
}

// hostile are values that few attributes can take. Of each, those count that the
// attribute's Go type can hold.
func hostile() []string {
	return []string{`""`, `"\u0000"`, `"a\nb:c, d"`, `"-"`, `-1`, `9999999999`, `[""]`, `["\n"]`, `["a\u0000=b"]`}
}

// namesAttributes puts every hostile value into the state Present, one at a time. The
// type may take it; where it does not, its error is for anyone who wrote the value.
func (r refusal[A]) namesAttributes(context.Context, *testing.T) error {
	raw, err := yaml.YAMLToJSON([]byte(r.c.Present))
	if err != nil {
		return err
	}
	var errs []error
	for _, attribute := range jsonFields(reflect.TypeFor[A]()) {
		for _, value := range hostile() {
			attributes, err := with(raw, attribute, value)
			if err != nil {
				return err
			}
			errs = append(errs, explained(attribute, value, r.bind(attributes)))
		}
	}
	return errors.Join(errs...)
}

func with(raw []byte, attribute, value string) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	all[attribute] = json.RawMessage(value)
	return json.Marshal(all)
}

func (r refusal[A]) bind(attributes []byte) error {
	_, err := bound.Kind(r.typ).Bind(resource.Ref{Kind: r.typ.Name, Name: r.c.name()}, attributes)
	if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); mistyped {
		return nil
	}
	return err
}

// explained is what is missing from a refusal: the attribute, or the fix, which
// follows what is wrong.
func explained(attribute, value string, refused error) error {
	if refused == nil {
		return nil
	}
	for line := range strings.Lines(refused.Error()) {
		_, rest, named := strings.Cut(line, attribute)
		if named && (strings.ContainsAny(rest, ":;") || strings.Contains(rest, ", such as ") || strings.Contains(rest, ", as in ")) {
			return nil
		}
	}
	return fmt.Errorf("%s: %s is refused without naming %s and what to do: %w", attribute, value, attribute, refused)
}

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

// refusal has the law of how a type rejects values.
type refusal[A any] struct {
	typ *resource.Type[A]
	c   Case
}

// hostile returns values that few attributes accept. Only those that the attribute's Go type can
// represent count.
func hostile() []string {
	return []string{`""`, `"\u0000"`, `"a\nb:c, d"`, `"-"`, `-1`, `9999999999`, `[""]`, `["\n"]`, `["a\u0000=b"]`}
}

// namesAttributes puts every hostile value into the state Present, one at a time. The type may
// accept it. If it does not, its error must help the author of the value.
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

// explained returns an error if a rejection does not name the attribute, followed by the problem
// and the fix.
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
	return fmt.Errorf("%s: the error for %s does not name %s and the fix: %w", attribute, value, attribute, refused)
}

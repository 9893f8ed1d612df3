package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
)

// Desired returns an error if the schema of an attribute excludes a value that is wanted. The error names the attribute, and
// quotes no value, which may be secret.
func Desired(d *definition.Definition, should wire.State) error {
	for _, name := range slices.Sorted(maps.Keys(should)) {
		at := attribute(d, name)
		if at == nil {
			continue
		}
		if value := should[name]; !definition.Fits(at, value) {
			return fmt.Errorf("%s has the type %s: it must be %s", name, definition.TypeOf(value), definition.TypeWords(at))
		}
		if err := d.Conforms(at, should[name]); err != nil {
			return err
		}
	}
	return nil
}

// typesFit returns an error if a value is not of the type of its attribute: it would never be in sync. Of the match First,
// an element may stand for the list.
func typesFit(d *definition.Definition, state wire.State, counts func(name string) bool) error {
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		value := state[at.Name]
		if value == nil || at.Match == v1alpha1.MatchFirst || !counts(at.Name) {
			continue
		}
		written := definition.TypeOf(value) == "number" && definition.Fits(at, json.Number("1")) // 1.0 may be the integer 1
		if !definition.Fits(at, value) && !written {
			return typeError(at, value)
		}
	}
	return nil
}

func typeError(at *v1alpha1.ExternalAttribute, value any) error {
	return fmt.Errorf("the program answered with the type %s for %s: it must be %s", definition.TypeOf(value), at.Name, definition.TypeWords(at))
}

// same reports whether two values of a Namevar, which is text or an integer, are equal.
func same(at *v1alpha1.ExternalAttribute, a, b any) bool {
	x, y := fmt.Sprint(a), fmt.Sprint(b)
	return x == y || at.CaseInsensitive && strings.EqualFold(x, y)
}

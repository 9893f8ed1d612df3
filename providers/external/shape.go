package external

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/internal/text"
)

// verdicts returns what a program decided about attributes, with messages without secrets.
func (p program) verdicts(from map[string]wire.Verdict, want Attributes) (map[string]wire.Verdict, error) {
	all := maps.Clone(from)
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if name != resource.Ensure && p.attribute(name) == nil {
			return nil, fmt.Errorf("the program answered with the attribute %.40q in inSync, which the type does not have", name)
		}
		v := from[name]
		v.Message = text.Clip(text.Block(redact.Text(v.Message, want.secretTexts(p.Definition))), maxDiff)
		all[name] = v
	}
	return all, nil
}

// typesFit returns an error if a value is not of the type of its attribute: it would never be in sync. Only the attributes
// that a resource relies on count, and of the match First an element may stand for the list.
func (p program) typesFit(state wire.State, counts func(name string) bool) error {
	for i := range p.Spec.Attributes {
		at := &p.Spec.Attributes[i]
		value := state[at.Name]
		if value == nil || at.Match == v1alpha1.MatchFirst || !counts(at.Name) {
			continue
		}
		if is, must := typeOf(value), definition.SchemaType(at); !fits(is, must) && !fits(must, is) {
			return fmt.Errorf("the program answered with the type %s for %s: it must be %s", is, at.Name, must)
		}
	}
	return nil
}

package laws

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/wire"
)

// setLeavesTheRest changes resources that manage a part of the attributes that they were created with. Types with rules may need
// the others.
func setLeavesTheRest(ctx context.Context, p Program, resources []wire.Resource) error {
	before, err := p.states(ctx, resources)
	if err != nil || len(p.Definition.Spec.Rules) > 0 {
		return err
	}
	parts := map[int]wire.Resource{}
	for i, r := range resources {
		if part, ok := p.part(r, before[i]); ok {
			parts[i] = part
		}
	}
	if len(parts) == 0 {
		return nil
	}
	answers, err := p.change(ctx, wire.Request{Request: wire.Set, Resources: slices.Collect(maps.Values(parts))})
	if err != nil {
		return err
	}
	after, err := p.states(ctx, resources)
	if err != nil {
		return err
	}
	for i, part := range parts {
		if err := p.leftTheRest(part, answers, after[i]); err != nil {
			return err
		}
	}
	return nil
}

// leftTheRest checks the change of a part of a resource.
func (p Program) leftTheRest(part wire.Resource, answers wire.Answers, after wire.State) error {
	if _, err := answers.Of(wire.Set, part.Name); err != nil {
		return fmt.Errorf("a change of %s of %q without its optional attributes: %w", part.Changes[0], part.Name, err)
	}
	if name := p.lost(part, after); name != "" {
		return fmt.Errorf("set changed %s of %q, which was not in should: leave attributes as they are that a resource does not manage", name, part.Name)
	}
	return nil
}

// part returns the resource with a change of one attribute and, of the others, only those that each resource manages. It is false if these
// are all.
func (p Program) part(r wire.Resource, is wire.State) (wire.Resource, bool) {
	out := wire.Resource{Name: r.Name, Should: maps.Clone(r.Should), Related: r.Related, Is: is}
	omitted := 0
	for i := range p.Definition.Spec.Attributes {
		at := &p.Definition.Spec.Attributes[i]
		switch {
		case r.Should[at.Name] == nil || is[at.Name] == nil:
		case at.Behaviour == v1alpha1.BehaviourProperty && len(out.Changes) == 0 && !at.Sensitive:
			out.Changes, out.Should[at.Name] = []string{at.Name}, is[at.Name]
		case isOptional(at):
			delete(out.Should, at.Name)
			omitted++
		}
	}
	return out, len(out.Changes) > 0 && omitted > 0
}

// isOptional reports whether a resource need not manage an attribute.
func isOptional(at *v1alpha1.ExternalAttribute) bool {
	managed := at.Behaviour == v1alpha1.BehaviourProperty || at.Behaviour == v1alpha1.BehaviourInitOnly
	return managed && !at.Required && at.Default == ""
}

// lost returns an attribute that changed although the request did not name it; "" if there is none.
func (p Program) lost(part wire.Resource, after wire.State) string {
	for i := range p.Definition.Spec.Attributes {
		at := &p.Definition.Spec.Attributes[i]
		_, wanted := part.Should[at.Name]
		was, known := part.Is[at.Name]
		if known && !wanted && isOptional(at) && !reflect.DeepEqual(was, after[at.Name]) {
			return at.Name
		}
	}
	return ""
}

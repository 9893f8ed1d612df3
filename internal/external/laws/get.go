package laws

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/external/wire"
)

func getIsStable(ctx context.Context, p Program, resources []wire.Resource) error {
	get := wire.Request{Request: wire.Get, Resources: resources}
	first, err := p.answers(ctx, get)
	if err != nil {
		return err
	}
	second, err := p.answers(ctx, get)
	if err != nil {
		return err
	}
	forms, err := p.forms(ctx, resources)
	if err != nil {
		return err
	}
	for i, r := range resources {
		one, err := first.Of(wire.Get, r.Name)
		if err != nil {
			return err
		}
		if _, err := contract.Read(p.Definition, r.Should, forms[i], one); err != nil {
			return err
		}
		if two, err := second.Of(wire.Get, r.Name); err != nil || !reflect.DeepEqual(one.State, two.State) {
			return errors.Join(fmt.Errorf("two reads of %q differ: %v and %v", r.Name, one.State, two.State), err)
		}
	}
	return nil
}

// forms returns the canonical forms of desired states; nil for a program that has none, and for those that another law is
// about.
func (p Program) forms(ctx context.Context, resources []wire.Resource) ([]wire.State, error) {
	forms := make([]wire.State, len(resources))
	if !p.Definition.Answers(v1alpha1.RequestCanonicalize) {
		return forms, nil
	}
	answers, err := p.answers(ctx, wire.Request{Request: wire.Canonicalize, Resources: resources})
	if err != nil {
		return nil, err
	}
	for i, r := range resources {
		answer, err := answers.Of(wire.Canonicalize, r.Name)
		if err == nil {
			forms[i] = answer.State
		}
	}
	return forms, nil
}

func getReadsAbsence(ctx context.Context, p Program, resources []wire.Resource) error {
	if _, err := p.states(ctx, p.removals(resources)); err != nil {
		return fmt.Errorf("with only its Namevars and Parameters: %w", err)
	}
	return nil
}

// getIsNoEcho holds before set has created the resources. One that exists as desired if it is to be present, but not at all if
// it is to be absent, is only what was asked for.
func getIsNoEcho(ctx context.Context, p Program, resources []wire.Resource) error {
	is, err := p.states(ctx, resources)
	if err != nil {
		return err
	}
	gone, err := p.states(ctx, p.removals(resources))
	if err != nil {
		return err
	}
	for i, r := range resources {
		if is[i] != nil && gone[i] == nil && differing(is[i], r.Should) == "" {
			return fmt.Errorf("%q is as it should be before set created it, and does not exist if it is to be absent: answer with the present state, not with the desired one", r.Name)
		}
	}
	return nil
}

// getConforms holds for what the program has created itself. Otherwise others could have changed it.
func getConforms(ctx context.Context, p Program, resources []wire.Resource) error {
	states, err := p.states(ctx, resources)
	if err != nil {
		return err
	}
	for i, r := range resources {
		if err := contract.Conforms(p.Definition, states[i]); err != nil {
			return fmt.Errorf("the state of %q after set has a value that the type excludes: %w: correct the value, or the schema", r.Name, err)
		}
	}
	return nil
}

package laws

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/external/translation"
	"github.com/fettle-dev/fettle/internal/external/wire"
)

func canonicalizeIsIdempotent(ctx context.Context, p Program, resources []wire.Resource) error {
	if !p.Definition.Answers(v1alpha1.RequestCanonicalize) {
		return nil
	}
	states, err := p.states(ctx, resources)
	if err != nil {
		return err
	}
	all, err := p.canonicalized(ctx, resources)
	if err != nil {
		return err
	}
	if _, err := p.canonicalized(ctx, p.removals(resources)); err != nil {
		return fmt.Errorf("with only its Namevars and Parameters: %w", err)
	}
	for i, r := range resources {
		if states[i] != nil {
			all = append(all, wire.Resource{Name: r.Name, Should: states[i], Related: r.Related})
		}
	}
	for _, r := range all { // one by one: the same name occurs twice
		again, err := p.canonicalized(ctx, []wire.Resource{r})
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(again[0].Should, r.Should) {
			return fmt.Errorf("canonicalize of %q changes a canonical state: %v becomes %v", r.Name, r.Should, again[0].Should)
		}
	}
	return nil
}

// canonicalized returns resources in canonical form.
func (p Program) canonicalized(ctx context.Context, resources []wire.Resource) ([]wire.Resource, error) {
	answers, err := p.answers(ctx, wire.Request{Request: wire.Canonicalize, Resources: resources})
	if err != nil {
		return nil, err
	}
	all := slices.Clone(resources)
	for i, r := range all {
		answer, err := answers.Of(wire.Canonicalize, r.Name)
		if err == nil {
			err = contract.Canonical(p.Definition, r.Should, answer.State)
		}
		if err != nil {
			return nil, err
		}
		all[i].Should = answer.State
	}
	return all, nil
}

func checkAllowsTheRun(ctx context.Context, p Program, resources []wire.Resource) error {
	if !p.Definition.Answers(v1alpha1.RequestCheck) {
		return nil
	}
	answers, err := p.answers(ctx, wire.Request{Request: wire.Check, Resources: resources})
	if err != nil {
		return err
	}
	for _, r := range resources {
		if _, err := answers.Of(wire.Check, r.Name); err != nil {
			return fmt.Errorf("%q of the example would prevent each run: %w", r.Name, err)
		}
	}
	return nil
}

// validateAllowsTheExample asks about the changes that the test will make next: the creation, and the removal.
func validateAllowsTheExample(ctx context.Context, p Program, resources []wire.Resource) error {
	if !p.Definition.Answers(v1alpha1.RequestValidate) {
		return nil
	}
	states, err := p.states(ctx, resources)
	if err != nil {
		return err
	}
	wanted, removed := slices.Clone(resources), p.removals(resources)
	for i := range resources {
		wanted[i].Is, wanted[i].Changes = states[i], differences(states[i], wanted[i].Should)
		removed[i].Is, removed[i].Changes = states[i], []string{"ensure"}
	}
	if err := p.validated(ctx, "refuses the example", wanted); err != nil || !p.Removable || slices.Contains(statesOf(removed), nil) {
		return err
	}
	return p.validated(ctx, "refuses the removal of the example", removed)
}

// statesOf returns whether resources exist, as nil for those that don't.
func statesOf(all []wire.Resource) []any {
	out := make([]any, len(all))
	for i, r := range all {
		if r.Is != nil {
			out[i] = true
		}
	}
	return out
}

func (p Program) validated(ctx context.Context, refuses string, resources []wire.Resource) error {
	answers, err := p.answers(ctx, wire.Request{Request: wire.Validate, Resources: resources})
	if err != nil {
		return err
	}
	for _, r := range resources {
		if _, err := answers.Of(wire.Validate, r.Name); err != nil {
			return fmt.Errorf("validate %s, so each plan and each apply of %q fails: %w; remove Validate from spec.requests if the program does not answer it", refuses, r.Name, err)
		}
	}
	return nil
}

// differences returns the names of the attributes that differ, as a request to make changes has them.
func differences(is, should wire.State) []string {
	if is == nil {
		return []string{"ensure"}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(should)) {
		a, errA := json.Marshal(is[name])
		b, errB := json.Marshal(should[name])
		if errA != nil || errB != nil || string(a) != string(b) {
			names = append(names, name)
		}
	}
	return names
}

// refreshAnswers refreshes the resources.
func refreshAnswers(ctx context.Context, p Program, resources []wire.Resource) error {
	if !p.Definition.Answers(v1alpha1.RequestRefresh) {
		return nil
	}
	states, err := p.states(ctx, resources)
	if err != nil {
		return err
	}
	all := slices.Clone(resources)
	for i := range all {
		all[i].Is = states[i]
	}
	answers, err := p.change(ctx, wire.Request{Request: wire.Refresh, Resources: all})
	if err != nil {
		return err
	}
	for _, r := range all {
		if _, err := answers.Of(wire.Refresh, r.Name); err != nil {
			return fmt.Errorf("%q cannot be refreshed: %w; remove Refresh from spec.requests if the program does not answer it", r.Name, err)
		}
	}
	return nil
}

func unknownRequestsAreRefused(ctx context.Context, p Program, resources []wire.Resource) error {
	lines, err := p.encode(wire.Request{Request: "fly", Resources: resources[:1]})
	if err != nil {
		return err
	}
	res, err := p.ask(ctx, string(lines))
	if err != nil || res.ExitCode != 0 {
		return err // it refused
	}
	if answer, err := wire.Decode(res.Stdout).Of("fly", translation.Name(p.Definition, resources[0])); err == nil {
		return fmt.Errorf("the program answered a request that does not exist: %+v", answer)
	}
	return nil
}

func garbageEndsTheProgram(ctx context.Context, p Program, _ []wire.Resource) error {
	for _, garbage := range []string{"\x00\xff\n", "not JSON\n", "[]\n", `{"request":` + "\n"} {
		res, err := p.ask(ctx, garbage)
		if err != nil {
			return fmt.Errorf("with %q as input: %w", garbage, err)
		}
		if res.ExitCode == 0 {
			return fmt.Errorf("the program ignored %q: exit with another code than 0", garbage)
		}
	}
	return nil
}

package laws

import (
	"context"
	"fmt"
	"reflect"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/external/wire"
)

// maxFound is how many listed resources are read one by one.
const maxFound = 100

// listAgreesWithGet compares list and get, in both directions: a Purge removes what is listed, and must find it.
func listAgreesWithGet(ctx context.Context, p Program, resources []wire.Resource) error {
	if !p.Definition.Answers(v1alpha1.RequestList) {
		return nil
	}
	rows, err := p.rows(ctx)
	if err != nil {
		return err
	}
	states, err := p.states(ctx, resources)
	if err != nil {
		return err
	}
	for _, state := range states {
		if state == nil {
			continue
		}
		name := p.nameOf(state)
		row, listed := rows[name]
		if !listed {
			return fmt.Errorf("%q exists, and list does not have it: a Purge would not know it", name)
		}
		if at := differing(state, row); at != "" {
			return fmt.Errorf("list and get differ about %s of %q: %v and %v", at, name, row[at], state[at])
		}
		delete(rows, name)
	}
	return p.found(ctx, rows)
}

// rows returns what list has, by the names of resources.
func (p Program) rows(ctx context.Context) (map[string]wire.State, error) {
	answers, err := p.answers(ctx, wire.Request{Request: wire.List})
	if err != nil {
		return nil, err
	}
	rows := map[string]wire.State{}
	for _, answer := range answers.Listed() {
		state, err := contract.Listed(p.Definition, answer)
		if err != nil {
			return nil, fmt.Errorf("list: %w", err)
		}
		if state["ensure"] == absent {
			continue
		}
		name := p.nameOf(state)
		if answer.Name != name {
			return nil, fmt.Errorf("list: an answer has the name %q, and its state that of %q: the name is the value of the Namevar, or the values of several, joined", answer.Name, name)
		}
		if _, twice := rows[name]; twice {
			return nil, fmt.Errorf("list: the program listed %q twice", name)
		}
		rows[name] = state
	}
	return rows, nil
}

// found returns an error if get does not find what is listed.
func (p Program) found(ctx context.Context, rows map[string]wire.State) error {
	var all []wire.Resource
	for name, row := range rows {
		if len(all) < maxFound && contract.Declarable(p.Definition, row) {
			all = append(all, wire.Resource{Name: name, Should: p.removal(row)})
		}
	}
	if len(all) == 0 {
		return nil
	}
	states, err := p.states(ctx, all)
	if err != nil {
		return fmt.Errorf("what list has cannot be read: %w", err)
	}
	for i, r := range all {
		if states[i] == nil {
			return fmt.Errorf("list has %q, and get does not find it", r.Name)
		}
	}
	return nil
}

// differing returns an attribute that two states have with different values; "" if there is none.
func differing(a, b wire.State) string {
	for name, value := range a {
		if other, ok := b[name]; ok && !reflect.DeepEqual(value, other) {
			return name
		}
	}
	return ""
}

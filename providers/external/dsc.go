package external

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/dsc"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A dscResource is a provider: it calls the commands of a DSC resource, one process for each call. A what-if is never asked
// for, because resources have changed hosts in it.
type dscResource struct{ declared }

// Read implements [resource.Provider].
func (p dscResource) Read(ctx context.Context, h resource.Reader, want Attributes) (Attributes, error) {
	is, err := p.read(ctx, h, want)
	r := p.completed(resource.Result[Attributes]{State: is, Err: err}, want)
	return r.State, r.Err
}

func (p dscResource) read(ctx context.Context, h resource.Reader, want Attributes) (Attributes, error) {
	if p.asksTest(want) {
		return p.test(ctx, h, want)
	}
	return p.get(ctx, h, want)
}

// asksTest reports whether the resource's own test decides: as the resource says, or else its type.
func (p dscResource) asksTest(want Attributes) bool {
	if mode, ok := want.values[definition.ValidationMode]; ok && p.DSC.ValidationMode {
		return mode == definition.ValidateResource
	}
	return p.DSC.Compare == v1alpha1.CompareTest
}

func (p dscResource) get(ctx context.Context, h resource.Reader, want Attributes) (Attributes, error) {
	c := p.call("get", p.DSC.Manifest.Get, want, p.keys(want))
	c.record = func(r recorder, res host.Result) []string { return p.stateLines(r, c, res.Stdout, want) }
	output, err := p.query(ctx, h, c)
	if err != nil {
		return Attributes{}, err
	}
	state, err := p.state(c, output)
	if err != nil {
		return Attributes{}, fmt.Errorf("get: %w", err)
	}
	return p.compared(state, want)
}

// state reads the state of the only instance of a call.
func (p dscResource) state(c dscCall, output []byte) (dsc.State, error) {
	if !p.DSC.Manifest.TakesConfiguration() {
		return dsc.Document(output)
	}
	r, err := p.DSC.Manifest.Results(output, c.instances)
	if err != nil {
		return nil, err
	}
	return r.States[0], nil
}

// stateLines show the desired state as it is written, and as the system writes it.
func (p dscResource) stateLines(r recorder, c dscCall, output []byte, want Attributes) []string {
	lines := []string{"desired: " + show(r.redacted(map[string]any(p.desired(want))))}
	state, err := p.state(c, output)
	if err != nil {
		return lines
	}
	is, err := p.compared(state, want)
	if err != nil {
		return lines
	}
	canonical := want
	for name, value := range is.canonical {
		canonical.set(name, value)
	}
	lines = append(lines, "canonical: "+show(r.redacted(map[string]any(p.desired(canonical)))))
	if unknown := p.unknown(state); len(unknown) > 0 {
		lines = append(lines, r.text("ignored, because the type does not have them: "+strings.Join(unknown, ", ")))
	}
	return lines
}

// test reads a resource by its own test, whose verdict counts.
func (p dscResource) test(ctx context.Context, h resource.Reader, want Attributes) (Attributes, error) {
	op := p.DSC.Manifest.Test
	c := p.call("test", op, want, p.desired(want))
	output, err := p.query(ctx, h, c)
	if err != nil {
		return Attributes{}, err
	}
	if p.DSC.Manifest.TakesConfiguration() {
		return p.decided(ctx, h, c, output, want)
	}
	outcome, err := op.Outcome(output)
	if err != nil {
		return Attributes{}, fmt.Errorf("test: %w", err)
	}
	is, err := p.compared(outcome.State, want)
	if err != nil {
		return is, err
	}
	verdict, err := outcome.State.Canonical()
	is.verdicts = p.verdicts(is, want, outcome.Diff, verdict.InDesiredState)
	return is, err
}

// decided reads a resource whose adapter takes a configuration: its test has a verdict, but maybe no state.
func (p dscResource) decided(ctx context.Context, h resource.Reader, c dscCall, output []byte, want Attributes) (Attributes, error) {
	r, err := p.DSC.Manifest.Results(output, c.instances)
	if err == nil && r.InDesiredState == nil {
		err = errors.New("the output has no _inDesiredState")
	}
	if err != nil {
		return Attributes{}, fmt.Errorf("test: %w", err)
	}
	is, err := p.get(ctx, h, want)
	if err == nil {
		is.verdicts = p.verdicts(is, want, nil, r.InDesiredState)
	}
	return is, err
}

// List implements [resource.Lister].
func (p dscResource) List(ctx context.Context, h resource.Reader) ([]Attributes, error) {
	if !p.Answers(v1alpha1.RequestList) {
		return nil, &resource.NoListerError{Kind: p.Spec.Kind, Provider: p.provider.Name}
	}
	output, err := p.query(ctx, h, p.call("export", p.DSC.Manifest.Export, Attributes{}, nil))
	if err != nil {
		return nil, err
	}
	rows, err := p.DSC.Manifest.Exported(output)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return p.listed(rows)
}

// listed returns the resources in the rows of an export.
func (p dscResource) listed(rows []dsc.State) (all []Attributes, err error) {
	if p.DSC.Singleton && len(rows) > 1 {
		return nil, fmt.Errorf("export: the output has %d instances, but the type says that a host has one: set Namevars instead of spec.dsc.singleton", len(rows))
	}
	for i, row := range rows {
		is, err := p.exported(row)
		if err != nil {
			return nil, fmt.Errorf("export: row %d: %w", i+1, p.without(err, is))
		}
		if is.ensure() != resource.Absent && contract.Declarable(p.Definition, is.values) {
			all = append(all, is)
		}
	}
	return all, nil
}

// exported returns the state in a row, with its name unless it is absent.
func (p dscResource) exported(row dsc.State) (Attributes, error) {
	is, err := p.compared(row, Attributes{})
	if err == nil && is.ensure() != resource.Absent {
		is.name = p.NameOf(is.values)
	}
	return is, err
}

// Precheck implements [resource.Prechecker].
func (p dscResource) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[Attributes]) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		if errs[i] = p.initOnly(w); errs[i] == nil {
			errs[i] = p.without(p.validated(ctx, h, w.Is, w.Want), w.Want, w.Is)
		}
		if errs[i] == nil {
			errs[i] = &resource.UnknownError{Reason: "runs the program of the type"}
		}
	}
	return errs
}

// validated asks the resource whether a desired state is valid.
func (p dscResource) validated(ctx context.Context, h resource.Reader, is, want Attributes) error {
	op := p.DSC.Manifest.Validate
	if op == nil || want.ensure() == resource.Absent {
		return nil
	}
	c := p.call("validate", op, want, p.desired(want))
	c.is = is
	output, err := p.query(ctx, h, c)
	if err != nil {
		return err
	}
	reason, err := dsc.Validity(output)
	if err == nil && reason != "" {
		err = fmt.Errorf("the resource says that its desired state is invalid: %s", reason)
	}
	return err
}

// Write implements [resource.Provider].
func (p dscResource) Write(ctx context.Context, h resource.Writer, is, want Attributes, changes []resource.Change) error {
	if err := p.initOnly(resource.Write[Attributes]{Is: is, Want: want, Changes: changes}); err != nil {
		return err
	}
	return p.without(p.write(ctx, h, is, want), want, is)
}

func (p dscResource) write(ctx context.Context, h resource.Writer, is, want Attributes) error {
	m := p.DSC.Manifest
	bySet, byDelete := p.DSC.Removes()
	absent := want.ensure() == resource.Absent
	if absent && !bySet {
		if !byDelete { // the feature removable is missing: this is not reached
			return errors.New("the resource cannot be removed")
		}
		_, err := p.run(ctx, h, p.call("delete", m.Delete, want, p.keys(want)).over(is))
		return err
	}
	if m.Set == nil {
		return errors.New("the manifest has no set: the resource can only be read")
	}
	if err := p.validated(ctx, h, is, want); err != nil {
		return err
	}
	for name, value := range is.canonical {
		want.set(name, value)
	}
	c := p.call("set", m.Set, want, p.desired(want)).over(is)
	output, err := p.run(ctx, h, c)
	if err != nil {
		return err
	}
	said, err := p.said(c, output)
	if err != nil {
		return fmt.Errorf("set: %w", err)
	}
	for _, what := range said.Restart {
		h.Note("restart required: " + p.message(what, want, is) + "\n")
	}
	return nil
}

// said returns the canonical properties of what set printed.
func (p dscResource) said(c dscCall, output []byte) (dsc.Canonical, error) {
	var state dsc.State
	var err error
	switch {
	case c.op.Return == "":
	case p.DSC.Manifest.TakesConfiguration():
		state, err = p.state(c, output)
	default:
		var outcome dsc.Outcome
		outcome, err = c.op.Outcome(output)
		state = outcome.State
	}
	if err != nil {
		return dsc.Canonical{}, err
	}
	return state.Canonical()
}

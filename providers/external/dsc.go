package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
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
	name := *p.namevar(&want)
	is, err := p.read(ctx, h, want)
	is.name, is.secrets, is.hide = cmp.Or(p.NameOf(is.values), name), want.secrets, p.recorder(want, is).secrets
	return is, p.without(err, want, is)
}

func (p dscResource) read(ctx context.Context, h resource.Reader, want Attributes) (Attributes, error) {
	if p.DSC.Compare == v1alpha1.CompareTest {
		return p.test(ctx, h, want)
	}
	c := p.call("get", p.DSC.Manifest.Get, p.keys(want), want)
	c.record = func(r recorder, res host.Result) []string { return p.stateLines(r, res.Stdout, want) }
	output, err := p.query(ctx, h, c)
	if err != nil {
		return Attributes{}, err
	}
	state, err := dsc.Document(output)
	if err != nil {
		return Attributes{}, fmt.Errorf("get: %w", err)
	}
	return p.compared(state, want)
}

// stateLines show the desired state as it is written, and as the system writes it.
func (p dscResource) stateLines(r recorder, output []byte, want Attributes) []string {
	lines := []string{"desired: " + show(r.redacted(map[string]any(p.desired(want))))}
	state, err := dsc.Document(output)
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
	output, err := p.query(ctx, h, p.call("test", op, p.desired(want), want))
	if err != nil {
		return Attributes{}, err
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

// List implements [resource.Lister].
func (p dscResource) List(ctx context.Context, h resource.Reader) ([]Attributes, error) {
	if !p.Answers(v1alpha1.RequestList) {
		return nil, &resource.NoListerError{Kind: p.Spec.Kind, Provider: p.provider.Name}
	}
	output, err := p.query(ctx, h, p.call("export", p.DSC.Manifest.Export, nil, Attributes{}))
	if err != nil {
		return nil, err
	}
	rows, err := dsc.Documents(output)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	var all []Attributes
	for i, row := range rows {
		is, err := p.exported(row)
		if err != nil {
			return nil, fmt.Errorf("export: row %d: %w", i+1, p.without(err, is))
		}
		if is.ensure() != resource.Absent && p.mayDeclare(is.values) {
			all = append(all, is)
		}
	}
	return all, nil
}

// exported returns the state in a row, with its name unless it is absent.
func (p dscResource) exported(row dsc.State) (Attributes, error) {
	is, err := p.compared(row, Attributes{})
	if err != nil || is.ensure() == resource.Absent {
		return is, err
	}
	if is.name = p.NameOf(is.values); is.name == "" {
		return is, errors.New("it has no value for a Namevar")
	}
	return is, nil
}

// Precheck implements [resource.Prechecker].
func (p dscResource) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[Attributes]) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		if errs[i] = p.initOnly(w); errs[i] == nil {
			errs[i] = p.without(p.validated(ctx, h, w.Want), w.Want, w.Is)
		}
	}
	return errs
}

// validated asks the resource whether a desired state is valid.
func (p dscResource) validated(ctx context.Context, h resource.Reader, want Attributes) error {
	op := p.DSC.Manifest.Validate
	if op == nil || want.ensure() == resource.Absent {
		return nil
	}
	output, err := p.query(ctx, h, p.call("validate", op, p.desired(want), want))
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
		c := p.call("delete", m.Delete, p.keys(want), want)
		c.is = is
		_, err := p.run(ctx, h, c)
		return err
	}
	if m.Set == nil {
		return errors.New("the manifest has no set: the resource can only be read")
	}
	if err := p.validated(ctx, h, want); err != nil {
		return err
	}
	for name, value := range is.canonical {
		want.set(name, value)
	}
	c := p.call("set", m.Set, p.desired(want), want)
	c.is = is
	output, err := p.run(ctx, h, c)
	if err != nil {
		return err
	}
	outcome, err := m.Set.Outcome(output)
	if err != nil {
		return fmt.Errorf("set: %w", err)
	}
	said, err := outcome.State.Canonical()
	for _, what := range said.Restart {
		h.Note("restart required: " + p.message(what, want, is) + "\n")
	}
	return err
}

// A dscCall is a call of a command.
type dscCall struct {
	name  string
	op    *dsc.Operation
	input dsc.State
	want  Attributes
	is    Attributes // for a call that makes changes
	// record returns further lines for debug logs; nil for none.
	record func(recorder, host.Result) []string
}

// call returns the call of a command. No properties are no input.
func (p dscResource) call(name string, op *dsc.Operation, input dsc.State, want Attributes) dscCall {
	if len(input) == 0 {
		input = nil
	}
	return dscCall{name: name, op: op, input: input, want: want}
}

// query calls a command that only reads, and returns its output.
func (p dscResource) query(ctx context.Context, h resource.Reader, c dscCall) ([]byte, error) {
	cmd, err := p.command(ctx, h, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	cmd.Confinement.ReadOnly = true
	cmd.Confinement.Network, cmd.Confinement.Sockets = p.Spec.Access.Network, p.Spec.Access.Sockets
	res, err := h.Query(ctx, cmd)
	return res.Stdout, p.failure(c, res, err)
}

// run calls a command that makes changes.
func (p dscResource) run(ctx context.Context, h resource.Writer, c dscCall) ([]byte, error) {
	cmd, err := p.command(ctx, h, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	res, err := p.change(ctx, h, cmd)
	for _, warning := range dsc.Texts(dsc.Messages(res.Stderr), dsc.LevelWarn) {
		h.Note("warning: " + p.recorder(c.want, c.is).with(res.Stdout).message(warning) + "\n")
	}
	return res.Stdout, p.failure(c, res, err)
}

// command returns the command of a call, in the directory of the type's files.
func (p dscResource) command(ctx context.Context, h host.Reader, c dscCall) (host.Cmd, error) {
	dir, err := p.files.Dir(ctx, h, p.Definition)
	if err != nil {
		return host.Cmd{}, err
	}
	target := dsc.Target{Type: p.DSC.Manifest.Type, Path: path.Join(dir, p.DSC.ManifestPath)}
	if a := p.DSC.Adapted; a != nil {
		target = dsc.Target{Type: a.Type, Path: a.Path}
		if a.Path != "" && !path.IsAbs(a.Path) {
			target.Path = path.Join(dir, a.Path)
		}
	}
	call, err := c.op.Call(target, c.input)
	if err != nil {
		return host.Cmd{}, err
	}
	args := definition.CommandIn(dir, slices.Concat([]string{c.op.Executable}, call.Args))
	cmd := host.Cmd{
		Args: args, Env: call.Env, Dir: dir, Stdin: call.Stdin, MaxOutput: maxOutput,
		Timeout:     time.Duration(p.Spec.TimeoutSeconds) * time.Second,
		Confinement: &host.Confinement{Memory: maxMemory, Tasks: maxTasks},
	}
	return p.recorder(c.want, c.is).recorded(cmd, c.record), nil
}

// failure returns why a call failed; nil if it did not.
func (p dscResource) failure(c dscCall, res host.Result, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.name, err)
	case res.Truncated:
		return fmt.Errorf("%s: the command wrote more than %d MiB", c.name, maxOutput>>20)
	case res.ExitCode != 0:
		return p.recorder(c.want, c.is).with(res.Stdout).without(fmt.Errorf("%s: %s", c.name, p.DSC.Manifest.Failure(res.ExitCode, res.Stderr)))
	}
	return nil
}

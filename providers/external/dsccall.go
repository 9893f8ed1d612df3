package external

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/dsc"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A dscCall is a call of a command.
type dscCall struct {
	name      string
	op        *dsc.Operation
	wants     []Attributes
	instances []dsc.Instance // parallel to wants, or one without properties
	is        Attributes     // as far as it was read before
	limit     time.Duration  // of the process; 0 means the limit of the type
	// record returns further lines for debug logs; nil for none.
	record func(recorder, host.Result) []string
}

// call returns the call of a command about one resource. No properties are no input.
func (p dscResource) call(name string, op *dsc.Operation, want Attributes, properties dsc.State) dscCall {
	if len(properties) == 0 {
		properties = nil
	}
	return dscCall{name: name, op: op, wants: []Attributes{want}, instances: []dsc.Instance{p.instance(want, properties)}}
}

// over returns a call that changes a present state.
func (c dscCall) over(is Attributes) dscCall {
	c.is = is
	return c
}

// callRecorder returns a recorder that knows the secrets of all resources of a call.
func (p dscResource) callRecorder(c dscCall) recorder {
	return p.recorder(append(slices.Clone(c.wants), c.is)...)
}

// instance returns a resource as the configuration of an adapter has it.
func (p dscResource) instance(want Attributes, properties dsc.State) dsc.Instance {
	kind := p.target("").Type
	return dsc.Instance{Name: cmp.Or(*p.namevar(&want), kind), Type: kind, Properties: properties}
}

// input returns what a command gets; nil for nothing.
func (p dscResource) input(c dscCall) dsc.State {
	if p.DSC.Manifest.TakesConfiguration() {
		return p.DSC.Manifest.Configuration(c.instances)
	}
	return c.instances[0].Properties
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
	res, excess := contract.Bounded(res)
	return res.Stdout, p.failure(c, res, excess, err)
}

// run calls a command that makes changes.
func (p dscResource) run(ctx context.Context, h resource.Writer, c dscCall) ([]byte, error) {
	cmd, err := p.command(ctx, h, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	res, err := p.change(ctx, h, cmd)
	res, excess := contract.Bounded(res)
	for _, warning := range dsc.Texts(dsc.Messages(res.Stderr), dsc.LevelWarn) {
		h.Note("warning: " + p.callRecorder(c).with(res.Stdout).message(warning) + "\n")
	}
	return res.Stdout, p.failure(c, res, excess, err)
}

// command returns the command of a call, in the directory of the type's files.
func (p dscResource) command(ctx context.Context, h host.Reader, c dscCall) (host.Cmd, error) {
	dir, err := p.files.Dir(ctx, h, p.Definition)
	if err != nil {
		return host.Cmd{}, err
	}
	call, err := c.op.Call(p.target(dir), p.input(c))
	if err != nil {
		return host.Cmd{}, err
	}
	args := definition.CommandIn(dir, slices.Concat([]string{c.op.Executable}, call.Args))
	cmd := host.Cmd{
		Args: args, Env: call.Env, Dir: dir, Stdin: call.Stdin, MaxOutput: contract.MaxOutput,
		Timeout:     cmp.Or(c.limit, p.timeout()),
		Confinement: contract.Confined(),
	}
	record := func(r recorder, res host.Result) []string {
		lines := []string{p.identity()}
		if c.record != nil {
			lines = append(lines, c.record(r, res)...)
		}
		return lines
	}
	return p.callRecorder(c).recorded(cmd, record), nil
}

// target returns what commands are about; dir has the files of the type.
func (p dscResource) target(dir string) dsc.Target {
	t := dsc.Target{Type: p.DSC.Manifest.Type, Version: p.DSC.Manifest.Version, Path: path.Join(dir, p.DSC.ManifestPath)}
	a := p.DSC.Adapted
	if a == nil {
		return t
	}
	t = dsc.Target{Type: a.Type, Version: cmp.Or(a.Version, p.Spec.Version), Path: a.Path}
	if a.Path != "" && !path.IsAbs(a.Path) {
		t.Path = path.Join(dir, a.Path)
	}
	if a.Content != nil {
		t.Content = string(a.Content.Raw)
	}
	return t
}

// identity names what a call is about, for debug logs: as in Puppet, with the module, which is the first part of a type.
func (p dscResource) identity() string {
	t := p.target("")
	module, _, _ := strings.Cut(t.Type, "/")
	line := fmt.Sprintf("resource: type %s, version %s, module %s", t.Type, t.Version, module)
	if p.DSC.Adapted != nil {
		line += fmt.Sprintf(", adapter %s %s", p.DSC.Manifest.Type, p.DSC.Manifest.Version)
	}
	return line
}

// failure returns why a call failed; nil if it did not.
func (p dscResource) failure(c dscCall, res host.Result, excess, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.name, err)
	case excess != nil:
		return fmt.Errorf("%s: the command %w", c.name, excess)
	case res.ExitCode != 0:
		return p.callRecorder(c).with(res.Stdout).without(fmt.Errorf("%s: %s", c.name, p.DSC.Manifest.Failure(res.ExitCode, res.Stderr)))
	}
	return nil
}

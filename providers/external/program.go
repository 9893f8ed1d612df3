package external

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/internal/text"
)

// Limits of the processes of a program.
const (
	maxOutput = 8 << 20   // of each stream, in bytes: decoded, it takes many times as much of the agent's memory
	maxMemory = 512 << 20 // in bytes
	maxTasks  = 256
)

// A program is a provider: it asks a program that users bring, in the protocol Fettle/1.
type program struct{ declared }

// newProgram returns the provider with the optional methods whose presence matters.
func newProgram(p program) resource.Provider[Attributes] {
	if p.Answers(v1alpha1.RequestRefresh) {
		return refreshing{p}
	}
	return p
}

// Read implements [resource.Provider].
func (p program) Read(ctx context.Context, h resource.Reader, want Attributes) (Attributes, error) {
	r := p.ReadAll(ctx, h, []Attributes{want})[0]
	return r.State, r.Err
}

// ReadAll implements [resource.BatchReader]: one process reads all.
func (p program) ReadAll(ctx context.Context, h resource.Reader, wants []Attributes) []resource.Result[Attributes] {
	var requests []wire.Request
	resources := make([]wire.Resource, len(wants))
	for i, w := range wants {
		resources[i] = p.resource(w)
	}
	if p.Answers(v1alpha1.RequestCanonicalize) {
		requests = append(requests, wire.Request{Request: wire.Canonicalize, Resources: resources})
	}
	answers, err := p.query(ctx, h, wants, append(requests, wire.Request{Request: wire.Get, Resources: resources})...)
	if err != nil {
		return resource.Unreadable[Attributes](len(wants), err)
	}
	results := make([]resource.Result[Attributes], len(wants))
	for i, w := range wants {
		results[i].State, results[i].Err = p.state(answers, resources[i].Name, w)
		results[i].Err = p.without(results[i].Err, w)
	}
	return results
}

// state returns the state of a resource from the answers about it.
func (p program) state(answers wire.Answers, name string, want Attributes) (Attributes, error) {
	answer, err := answers.Of(wire.Get, name)
	if err != nil {
		return Attributes{}, err
	}
	is := Attributes{name: name, secrets: want.secrets}
	if is.values, err = p.checked(answer.State); err != nil {
		return is, err
	}
	if is.verdicts, err = p.verdicts(answer.InSync, want); err != nil {
		return is, err
	}
	counts := func(name string) bool {
		_, wanted := want.values[name]
		_, decided := is.verdicts[name]
		return wanted && !decided
	}
	if err := p.typesFit(is.values, counts); err != nil {
		return is, err
	}
	if p.Answers(v1alpha1.RequestCanonicalize) {
		canonical, err := answers.Of(wire.Canonicalize, name)
		if err != nil {
			return is, err
		}
		if err := p.typesFit(canonical.State, func(string) bool { return true }); err != nil {
			return is, err
		}
		is.canonical = canonical.State
	}
	return is, nil
}

// checked returns a state that was read. nil is an absent resource, and a state without ensure one that exists if there is
// only one way to.
func (p program) checked(state wire.State) (wire.State, error) {
	if state == nil {
		return wire.State{resource.Ensure: resource.Absent}, nil
	}
	if _, ok := state[resource.Ensure]; !ok && len(p.Spec.Ensure.Values) == 1 {
		state = maps.Clone(state)
		state[resource.Ensure] = p.Spec.Ensure.Values[0]
	}
	if e, _ := state[resource.Ensure].(string); e != resource.Absent && !slices.Contains(p.Spec.Ensure.Values, e) {
		return nil, fmt.Errorf("the program answered with the value %.40q of ensure, which the type does not have", show(state[resource.Ensure]))
	}
	for name := range state {
		if at := p.attribute(name); name != resource.Ensure && at == nil {
			return nil, fmt.Errorf("the program answered with the attribute %.40q, which the type does not have", name)
		}
	}
	return state, nil
}

// List implements [resource.Lister].
func (p program) List(ctx context.Context, h resource.Reader) ([]Attributes, error) {
	if !p.Answers(v1alpha1.RequestList) {
		return nil, &resource.NoListerError{Kind: p.Spec.Kind, Provider: p.provider.Name}
	}
	answers, err := p.query(ctx, h, nil, wire.Request{Request: wire.List})
	if err == nil {
		err = answers.Err
	}
	if err != nil {
		return nil, err
	}
	var all []Attributes
	for _, answer := range answers.Listed() {
		if answer.Error != "" {
			return nil, errors.New(answer.Error)
		}
		values, err := p.checked(answer.State)
		if err != nil {
			return nil, err
		}
		if !p.mayDeclare(values) {
			continue
		}
		all = append(all, Attributes{name: p.nameOf(values), values: values})
	}
	return all, nil
}

// Write implements [resource.Provider].
func (p program) Write(ctx context.Context, h resource.Writer, is, want Attributes, changes []resource.Change) error {
	return p.WriteAll(ctx, h, []resource.Write[Attributes]{{Is: is, Want: want, Changes: changes, Note: h.Note}})[0]
}

// WriteAll implements [resource.BatchWriter]: one process changes all. What it has not answered before it ends has
// failed.
func (p program) WriteAll(ctx context.Context, h resource.Writer, writes []resource.Write[Attributes]) []error {
	errs := make([]error, len(writes))
	var possible []resource.Write[Attributes]
	var places []int
	for i, w := range writes {
		if errs[i] = p.initOnly(w); errs[i] == nil {
			possible, places = append(possible, w), append(places, i)
		}
	}
	if len(possible) == 0 {
		return errs
	}
	answers, err := p.run(ctx, h, wantsOf(possible), wire.Request{Request: wire.Set, Resources: p.changes(possible)})
	for n, i := range places {
		w := writes[i]
		if errs[i] = err; err == nil {
			errs[i] = p.outcome(answers, possible[n])
		} else {
			errs[i] = p.without(err, w.Want)
		}
	}
	return errs
}

// outcome returns the error of a change, and adds the notes of the program.
func (p program) outcome(answers wire.Answers, w resource.Write[Attributes]) error {
	answer, err := answers.Of(wire.Set, *p.namevar(&w.Want))
	for _, note := range answer.Notes {
		w.AddNote(p.message(note, w.Want) + "\n")
	}
	if err != nil {
		return p.without(err, w.Want)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(answer.Errors)) {
		errs = append(errs, &resource.PropertyError{Property: name, Err: p.without(errors.New(answer.Errors[name]), w.Want)})
	}
	return errors.Join(errs...)
}

// changes are the resources of a request to make changes.
func (p program) changes(writes []resource.Write[Attributes]) []wire.Resource {
	all := make([]wire.Resource, len(writes))
	for i, w := range writes {
		r := p.resource(w.Want)
		r.Is, r.Should = present(w.Is), maps.Clone(r.Should)
		maps.Copy(r.Should, w.Is.canonical)
		for _, c := range w.Changes {
			r.Changes = append(r.Changes, c.Property)
		}
		all[i] = r
	}
	return all
}

// resource returns a resource as every request has it.
func (p program) resource(want Attributes) wire.Resource {
	r := wire.Resource{Name: *p.namevar(&want), Should: want.values, Sensitive: p.sensitive(want)}
	for _, other := range want.related {
		r.Related = append(r.Related, wire.Related(other))
	}
	return r
}

// present returns the values of a resource that exists.
func present(is Attributes) wire.State {
	if is.ensure() == resource.Absent {
		return nil
	}
	return is.values
}

func wantsOf(writes []resource.Write[Attributes]) []Attributes {
	all := make([]Attributes, len(writes))
	for i, w := range writes {
		all[i] = w.Want
	}
	return all
}

// refreshing is a program that answers the request refresh.
type refreshing struct{ program }

// Refresh implements [resource.Refresher].
func (p refreshing) Refresh(ctx context.Context, h resource.Writer, is, want Attributes) error {
	r := p.resource(want)
	r.Is = present(is)
	answers, err := p.run(ctx, h, []Attributes{want}, wire.Request{Request: wire.Refresh, Resources: []wire.Resource{r}})
	var answer wire.Answer
	if err == nil {
		answer, err = answers.Of(wire.Refresh, r.Name)
	}
	if err == nil && answer.NothingToRefresh {
		return resource.ErrNothingToRefresh
	}
	return p.without(err, want)
}

// query asks the program without a change to the host.
func (p program) query(ctx context.Context, h resource.Reader, wants []Attributes, requests ...wire.Request) (wire.Answers, error) {
	cmd, err := p.command(ctx, h, wants, requests)
	if err != nil {
		return wire.Answers{}, err
	}
	cmd.Confinement.ReadOnly = true
	cmd.Confinement.Network, cmd.Confinement.Sockets = p.Spec.Access.Network, p.Spec.Access.Sockets
	res, err := h.Query(ctx, cmd)
	return p.answers(res, err, wants)
}

// run has the program make changes.
func (p program) run(ctx context.Context, h resource.Writer, wants []Attributes, request wire.Request) (wire.Answers, error) {
	cmd, err := p.command(ctx, h, wants, []wire.Request{request})
	if err != nil {
		return wire.Answers{}, err
	}
	res, err := p.change(ctx, h, cmd)
	return p.answers(res, err, wants)
}

// change runs a command that makes changes. Commands of one type wait for each other. That of a Remote type changes nothing on
// the host, so it runs where reads do, with the network.
func (t typed) change(ctx context.Context, h resource.Writer, cmd host.Cmd) (host.Result, error) {
	if t.IsRemote() {
		cmd.Confinement.ReadOnly, cmd.Confinement.Network, cmd.Confinement.Sockets = true, true, t.Spec.Access.Sockets
		return h.Query(ctx, cmd)
	}
	cmd.Detached, cmd.Job = true, host.Job{Owner: "ExternalType/" + t.Name}
	return h.Run(ctx, cmd)
}

func (p program) command(ctx context.Context, h host.Reader, wants []Attributes, requests []wire.Request) (host.Cmd, error) {
	dir, err := p.files.Dir(ctx, h, p.Definition)
	if err != nil {
		return host.Cmd{}, err
	}
	hello := wire.Request{Request: wire.Hello, Protocol: wire.Protocol, Kind: p.Spec.ProgramKind, Version: p.Spec.Version, Provider: p.provider.Name}
	stdin, err := wire.Encode(append([]wire.Request{hello}, requests...)...)
	if err != nil {
		return host.Cmd{}, err
	}
	cmd := host.Cmd{
		Args: definition.CommandIn(dir, p.provider.Command), Dir: dir, Stdin: stdin, MaxOutput: maxOutput,
		Timeout:     time.Duration(p.Spec.TimeoutSeconds) * time.Second,
		Confinement: &host.Confinement{Memory: maxMemory, Tasks: maxTasks},
	}
	return p.recorder(wants).recorded(cmd, nil), nil
}

// answers decodes the output of a process. How it ended explains what it did not answer.
func (p program) answers(res host.Result, err error, wants []Attributes) (wire.Answers, error) {
	a := wire.Decode(res.Stdout)
	var hidden []string
	for _, w := range wants {
		hidden = append(hidden, w.secretTexts(p.Definition)...)
	}
	switch {
	case res.Truncated:
		a.Err = fmt.Errorf("the program wrote more than %d MiB", maxOutput>>20)
	case err != nil:
		a.Err = err
	case res.ExitCode != 0:
		a.Err = fmt.Errorf("the program exited with %d%s", res.ExitCode, lastWords(redact.Output(res, hidden)))
	}
	return a, nil
}

// lastWords returns the end of what a process wrote to stderr.
func lastWords(res host.Result) string {
	lines := strings.Split(strings.TrimSpace(string(res.Stderr)), "\n")
	const most = 3
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	words := text.Clip(text.Line(strings.Join(lines, "; ")), maxMessage)
	if words == "" {
		return ""
	}
	return ": " + words
}

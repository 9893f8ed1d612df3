package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
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
	answers := p.inquire(ctx, p.reading(h, wants))
	results := make([]resource.Result[Attributes], len(wants))
	for i, w := range wants {
		results[i].State, results[i].Err = p.state(answers[i], w)
		results[i].Err = p.without(results[i].Err, w)
	}
	return results
}

// reading asks for the states of resources.
func (p program) reading(h resource.Reader, wants []Attributes) inquiry {
	requests := []string{wire.Get}
	if p.Answers(v1alpha1.RequestCanonicalize) {
		requests = []string{wire.Canonicalize, wire.Get}
	}
	return p.query(h, p.resources(wants), requests...)
}

// state returns the state of a resource from the answers about it. Its canonical form is known even if it cannot be read.
func (p program) state(answers wire.Answers, want Attributes) (Attributes, error) {
	is := Attributes{name: *p.namevar(&want), secrets: want.secrets}
	if p.Answers(v1alpha1.RequestCanonicalize) {
		canonical, err := answers.Of(wire.Canonicalize, is.name)
		if err == nil {
			err = p.without(contract.Canonical(p.Definition, want.values, canonical.State), want, Attributes{values: canonical.State})
		}
		if err != nil {
			return is, err
		}
		is.canonical, is.named = canonical.State, true
	}
	answer, err := answers.Of(wire.Get, is.name)
	if err != nil {
		return is, err
	}
	r := p.recorder(want, Attributes{values: answer.State})
	is.verdicts, is.hide = shortened(answer.InSync), r.secrets
	is.values, err = contract.Read(p.Definition, want.values, is.canonical, answer)
	is.name = cmp.Or(p.NameOf(is.values), is.name)
	return is, r.without(err)
}

// shortened returns what a program decided about attributes, with messages as people may see them.
func shortened(from map[string]wire.Verdict) map[string]wire.Verdict {
	all := maps.Clone(from)
	for name, v := range all {
		v.Message = text.Clip(text.Block(v.Message), maxDiff)
		all[name] = v
	}
	return all
}

// List implements [resource.Lister].
func (p program) List(ctx context.Context, h resource.Reader) ([]Attributes, error) {
	if !p.Answers(v1alpha1.RequestList) {
		return nil, &resource.NoListerError{Kind: p.Spec.Kind, Provider: p.provider.Name}
	}
	list := p.query(h, nil, wire.List)
	answers := list.ask(ctx, nil, p.timeout())
	if answers.Err != nil {
		return nil, answers.Err
	}
	seen := map[string]bool{}
	var all []Attributes
	for _, answer := range answers.Listed() {
		values, err := contract.Listed(p.Definition, answer)
		if err != nil {
			return nil, fmt.Errorf("list: %w", p.without(err, Attributes{values: answer.State}))
		}
		row := Attributes{values: values}
		if row.ensure() == resource.Absent || !contract.Declarable(p.Definition, values) {
			continue
		}
		row.name = p.NameOf(values)
		name := p.CanonicalName(values)
		if seen[name] {
			return nil, fmt.Errorf("list: the program listed %.80q twice", row.name)
		}
		seen[name] = true
		all = append(all, row)
	}
	return all, nil
}

// Write implements [resource.Provider].
func (p program) Write(ctx context.Context, h resource.Writer, is, want Attributes, changes []resource.Change) error {
	return p.WriteAll(ctx, h, []resource.Write[Attributes]{{Is: is, Want: want, Changes: changes, Note: h.Note}})[0]
}

// WriteAll implements [resource.BatchWriter]: one process changes all that nothing speaks against. What it has not answered
// before it ends has failed.
func (p program) WriteAll(ctx context.Context, h resource.Writer, writes []resource.Write[Attributes]) []error {
	errs := p.objections(ctx, h, writes)
	var possible []resource.Write[Attributes]
	var places []int
	for i, w := range writes {
		if errs[i] == nil {
			possible, places = append(possible, w), append(places, i)
		}
	}
	made := map[int]bool{}
	answers := p.inquire(ctx, p.writing(h, possible, made))
	for n, i := range places {
		errs[i] = p.outcome(answers[n], possible[n])
		if made[n] { // the engine reads whether the change took effect
			possible[n].AddNote(fmt.Sprintf("the program changed it without an answer: %v\n", errs[i]))
			errs[i] = nil
		}
	}
	return errs
}

// outcome returns the error of a change, and adds the notes of the program.
func (p program) outcome(answers wire.Answers, w resource.Write[Attributes]) error {
	answer, err := answers.Of(wire.Set, *p.namevar(&w.Want))
	for _, note := range answer.Notes {
		w.AddNote(p.message(note) + "\n")
	}
	if err != nil {
		return p.without(err, w.Want, w.Is)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(answer.Errors)) {
		errs = append(errs, &resource.PropertyError{Property: name, Err: p.without(errors.New(answer.Errors[name]))})
	}
	return errors.Join(errs...)
}

// changes are the resources of a request to make changes.
func (p program) changes(writes []resource.Write[Attributes]) []wire.Resource {
	all := make([]wire.Resource, len(writes))
	for i, w := range writes {
		r := p.resource(w.Want)
		r.Is, r.Should, r.Changes = present(w.Is), maps.Clone(r.Should), changed(w)
		maps.Copy(r.Should, w.Is.canonical)
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

// resources are the resources of a request that makes no changes.
func (p program) resources(wants []Attributes) []wire.Resource {
	all := make([]wire.Resource, len(wants))
	for i, w := range wants {
		all[i] = p.resource(w)
	}
	return all
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
	answers := p.run(h, []wire.Resource{r}, wire.Refresh).ask(ctx, []int{0}, p.timeout())
	answer, err := answers.Of(wire.Refresh, r.Name)
	if err == nil && answer.NothingToRefresh {
		return resource.ErrNothingToRefresh
	}
	return p.without(err, want, is)
}

// change runs a command that makes changes. Commands of one type wait for each other. The command of a Remote type changes nothing on
// the host, so it runs where reads do, with the network.
func (t typed) change(ctx context.Context, h resource.Writer, cmd host.Cmd) (host.Result, error) {
	if t.IsRemote() {
		cmd.Confinement.ReadOnly, cmd.Confinement.Network, cmd.Confinement.Sockets = true, true, t.Spec.Access.Sockets
		return h.Query(ctx, cmd)
	}
	cmd.Detached, cmd.Job = true, host.Job{Owner: "ExternalType/" + t.Name}
	return h.Run(ctx, cmd)
}

func (p declared) timeout() time.Duration { return p.Spec.TimeoutSeconds.Duration() }

func (p program) command(ctx context.Context, h host.Reader, r recorder, requests []wire.Request) (host.Cmd, error) {
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
		Args: definition.CommandIn(dir, p.provider.Command), Dir: dir, Stdin: stdin, MaxOutput: contract.MaxOutput,
		Timeout:     p.timeout(),
		Confinement: contract.Confined(),
	}
	return r.recorded(cmd, nil), nil
}

// answersOf decodes the output of a process, without secrets in its texts: neither those that it was sent nor those that it printed.
// How it ended explains what it did not answer.
func answersOf(r recorder, res host.Result, err error) wire.Answers {
	res, excess := contract.Bounded(res)
	r = r.with(res.Stdout)
	a := wire.Decode(res.Stdout).Redacted(r.text)
	switch {
	case excess != nil:
		a.Err = fmt.Errorf("the program %w", excess)
	case err != nil:
		a.Err = err
	case res.ExitCode != 0:
		a.Err = fmt.Errorf("the program exited with %d%s", res.ExitCode, lastWords(r.text(string(res.Stderr))))
	}
	return a
}

// lastWords returns the end of what a process wrote to stderr.
func lastWords(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
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

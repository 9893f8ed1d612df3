// Package typetest tests external types and their programs on a host that may be changed.
package typetest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/manifests"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/laws"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/providers/external"
)

// A Result is the outcome of a check.
type Result struct {
	Kind string
	Name string // of the check
	Err  error  // nil if it holds
}

// A tester tests one type.
type tester struct {
	host    host.Host
	facts   resource.Facts
	store   *store.OnDemand
	kinds   []resource.Kind
	types   manifest.Types
	kind    resource.Kind
	def     *definition.Definition
	example *manifest.Set
	watched *laws.Watched
	results []Result
}

// Run tests all types with their examples, which it applies to the host. Images come from a registry.
func Run(ctx context.Context, h host.Host, builtin []resource.Kind, types manifest.Types, from store.Registry) []Result {
	programs := store.NewOnDemand(store.New(h, path.Join(state.DefaultDir, "local-programs")), from)
	known, _ := facts.Gather(ctx, h) // those that are missing are no condition of a provider that works
	kinds := slices.Concat(builtin, external.Kinds(types.Definitions(), programs))
	var all []Result
	for i, d := range types.Definitions() {
		t := &tester{host: h, facts: known, store: programs, kinds: kinds, types: types, kind: kinds[len(builtin)+i], def: d}
		t.run(ctx)
		all = append(all, t.results...)
	}
	return all
}

func (t *tester) run(ctx context.Context) {
	if !t.add("the type is valid", t.kind.Problems()) || !t.add("the example is valid", t.readExample(ctx)) {
		return
	}
	provider := resource.Chosen(t.kind, t.facts, t.host)
	if !t.add("a provider suits this machine", t.unsuitable(provider)) {
		return
	}
	program, err := t.program(ctx, provider)
	if !t.add("the program is stored", err) {
		return
	}
	t.live(ctx, program)
	if t.def.Spec.Protocol == v1alpha1.ProtocolFettle {
		t.add("each answer is to what was asked", t.watched.Fault())
	}
}

// live tests the program before the example exists, while it does, and when it is removed.
func (t *tester) live(ctx context.Context, program laws.Program) {
	wanted := t.wanted()
	if !t.check(ctx, "before", program, wanted, slices.Concat(laws.Always(), laws.OfMissing())) {
		return
	}
	applied := t.apply(ctx)
	if !t.check(ctx, "while it exists", program, wanted, slices.Concat(laws.Always(), laws.OfExisting())) {
		return
	}
	if applied {
		t.add("a set after these changes nothing", t.changesNothing(ctx))
	}
	if t.def.Spec.Protocol == v1alpha1.ProtocolFettle {
		t.add("secrets are in no answer's errors and notes, while it is changed", laws.SecretsStaySecretInSet(ctx, program, wanted))
	}
	if program.Removable {
		t.remove(ctx)
	}
}

// check checks laws of the protocol Fettle/1. It reports whether the program can be tested further: each process of one that
// hangs would be waited for.
func (t *tester) check(ctx context.Context, when string, program laws.Program, wanted []wire.Resource, all []laws.Law) bool {
	if t.def.Spec.Protocol != v1alpha1.ProtocolFettle {
		return true
	}
	for _, l := range all {
		err := l.Check(ctx, program, wanted)
		if t.add(l.Name+", "+when, err); errors.Is(err, context.DeadlineExceeded) {
			return false
		}
	}
	return true
}

// removable reports whether a provider has the feature that ensure: absent requires.
func (t *tester) removable(provider string) bool {
	feature := t.def.Spec.Ensure.Features[resource.Absent]
	return feature == "" || slices.ContainsFunc(t.def.Spec.Providers, func(p v1alpha1.ExternalProvider) bool {
		return p.Name == provider && slices.Contains(p.Features, feature)
	})
}

func (t *tester) add(name string, err error) (ok bool) {
	t.results = append(t.results, Result{t.def.Spec.Kind, name, err})
	return err == nil
}

func (t *tester) unsuitable(provider string) error {
	if provider != "" {
		return nil
	}
	var errs []error
	for _, s := range t.kind.Suitability(t.facts, t.host) {
		errs = append(errs, fmt.Errorf("%s: %w", s.Provider, s.Err))
	}
	return errors.Join(errs...)
}

// readExample reads the example. Resources of other kinds are not applied, but may be sent to the program.
func (t *tester) readExample(ctx context.Context) error {
	if t.def.Spec.Example == "" {
		return errors.New("spec.example is missing: the tests need resources that can be created")
	}
	read := func(context.Context) ([]byte, error) { return []byte(t.def.Spec.Example), nil }
	t.example = t.types.Read(ctx, []source.Source{{Name: "spec.example", Read: read}}, nil)
	err := manifest.Join(t.example.Faults)
	own := func(d manifest.Document) bool { return d.Resource.KindName() == t.def.Spec.Kind }
	if !slices.ContainsFunc(t.example.Documents, own) && err == nil {
		err = fmt.Errorf("spec.example has no %s", t.def.Spec.Kind)
	}
	for _, d := range t.example.Documents { // other resources are not there
		*d.Resource.GetTargeting() = v1alpha1.Targeting{NodeSelector: d.Resource.GetTargeting().NodeSelector}
	}
	return err
}

// items compiles the example. Only problems of the kind are an error.
func (t *tester) items() ([]resource.Item, error) {
	in := manifests.Input(t.example, t.kinds)
	in.Nodes = []compiler.Node{{Facts: func() resource.Facts { return t.facts }}}
	items, _, problems := compiler.Prepare(in)
	var errs []error
	for _, p := range problems {
		if ref, err := resource.ParseRef(string(p.Ref)); err == nil && ref.Kind != t.def.Spec.Kind {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %s", p.Ref, p.Message))
	}
	return items, errors.Join(errs...)
}

// wanted returns the example in the words of the protocol.
func (t *tester) wanted() []wire.Resource {
	var all []wire.Resource
	items, _ := t.items() // apply reports the error
	related := plan.New(items).States(items)
	for i, item := range items {
		if !t.isOwn(item) {
			continue
		}
		state := t.attributes(item.Ref)
		if state["ensure"] == nil && t.def.Spec.Ensure.Default != "" {
			state["ensure"] = t.def.Spec.Ensure.Default
		}
		if of := t.def.Namevars(); len(of) == 1 && state[of[0].Name] == nil {
			state[of[0].Name] = item.Resource.Namevar()
		}
		r := wire.Resource{Name: item.Resource.Namevar(), Should: state}
		for _, other := range related[i] {
			r.Related = append(r.Related, wire.Related(other))
		}
		all = append(all, r)
	}
	return all
}

func (t *tester) isOwn(item resource.Item) bool { return item.Ref.Kind == t.def.Spec.Kind }

// attributes returns the attributes of a resource in the example.
func (t *tester) attributes(ref resource.Ref) wire.State {
	for _, d := range t.example.Documents {
		if d.Resource.KindName() == ref.Kind && d.Resource.GetName() == ref.Name {
			values, _ := d.Resource.GetAttributes().(v1alpha1.ExternalValues)
			return values.Values
		}
	}
	return nil
}

func (t *tester) program(ctx context.Context, provider string) (laws.Program, error) {
	dir, err := t.store.Dir(ctx, t.host, t.def)
	t.watched = laws.Watch(t.host, t.def, dir)
	t.host = t.watched
	p := laws.Program{Host: t.host, Definition: t.def, Provider: provider, Dir: dir, Removable: t.removable(provider)}
	for _, of := range t.def.Spec.Providers {
		if of.Name == provider && len(of.Command) > 0 {
			p.Command = definition.CommandIn(dir, of.Command)
		}
	}
	return p, err
}

// transact applies the resources of the kind in the example.
func (t *tester) transact(ctx context.Context) (report.Report, error) {
	items, err := t.items()
	if err != nil {
		return report.Report{}, err
	}
	run := engine.Transaction{Host: t.host, Facts: t.facts, Kinds: t.kinds, Selected: t.isOwn, Now: time.Now}
	result, err := run.Run(ctx, items)
	var errs []error
	for _, r := range result.Resources {
		if r.State == report.Failed {
			errs = append(errs, fmt.Errorf("%s", strings.Join(r.Lines(), "; ")))
		}
	}
	return result, errors.Join(append(errs, err)...)
}

// apply creates the example. It reports whether that succeeded.
func (t *tester) apply(ctx context.Context) bool {
	_, err := t.transact(ctx)
	if !t.add("set brings the example in sync", err) {
		return false
	}
	return t.add("a second set changes nothing", t.changesNothing(ctx))
}

func (t *tester) changesNothing(ctx context.Context) error {
	result, err := t.transact(ctx)
	if err == nil && len(result.Changed()) > 0 {
		var lines []string
		for _, r := range result.Resources {
			lines = append(lines, r.Lines()...)
		}
		err = fmt.Errorf("it changed something again: %s", strings.Join(lines, "; "))
	}
	return err
}

func (t *tester) remove(ctx context.Context) {
	for _, d := range t.example.Documents {
		if r, ok := d.Resource.(*v1alpha1.External); ok && r.KindName() == t.def.Spec.Kind {
			r.Spec.Ensure = resource.Absent
		}
	}
	_, err := t.transact(ctx)
	if !t.add("removal makes it absent", err) {
		return
	}
	t.add("a second removal changes nothing", t.changesNothing(ctx))
}

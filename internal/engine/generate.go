package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// generation is what the resources of a traversal have generated.
type generation struct {
	inSync     report.Counts // of those in sync, which have no report
	remembered []resource.Ref
	generators []generator                  // in their order
	changes    map[plan.Key]generatedChange // by kind and identity
}

// A generator is a resource that generated others, until the end of an epoch.
type generator struct {
	of *turn
	in epoch
}

// A generatedChange is a generated resource that was changed, and the one that generated it.
type generatedChange struct{ parent, change *turn }

func newGeneration() generation { return generation{changes: map[plan.Key]generatedChange{}} }

// changedAfter reports whether something that another resource generated was changed later.
func (g *generation) changedAfter(of generator) bool {
	for _, c := range g.changes {
		if c.parent != of.of && c.change.written > of.in {
			return true
		}
	}
	return false
}

// maxGenerated is the maximum number of reports about the resources that one resource generates. Users can make any number of
// files, and each report takes memory until the end of the run.
const maxGenerated = 50_000

// generate handles the resources that a resource generates, one by one, before its dependents. If
// one fails, the dependents are skipped, but the other generated resources are still handled.
func (t *traversal) generate(ctx context.Context, of *turn) {
	if of.isRefused() || of.result.failed() || !of.Resource.Abilities().Generate {
		return
	}
	h := t.generatingReader(of)
	of.complete = true
	before := len(t.reports)
	err := resource.Guarded(func() error {
		for res, err := range of.Resource.Generate(ctx, h, inventory{t}) {
			if ctx.Err() != nil {
				return fmt.Errorf("the run was stopped before all was done: %w", ctx.Err())
			}
			if err != nil {
				return err
			}
			if t.applyGenerated(ctx, of, res); len(t.reports)-before >= maxGenerated {
				return fmt.Errorf("more than %d of them are out of sync: the next run continues", maxGenerated)
			}
		}
		return nil
	})
	if err != nil {
		of.complete = false
		of.endGenerating(err)
	}
	t.generation.generators = append(t.generation.generators, generator{of, t.epochs.now})
	of.attachRemainingNotes()
}

// generatingReader returns the host as a resource reads it to generate others.
func (t *traversal) generatingReader(of *turn) resource.Reader {
	call := t.calls.new()
	call.Note = of.note
	if of.noop {
		call.Planned, call.PlannedNames = func() []any { return t.predictor.writes }, t.predictor.namesOf
	}
	return call.Reader(t.calls.hostOf(of.node))
}

// endGenerating reports that a resource has not generated all that it should.
func (t *turn) endGenerating(err error) {
	if wait, ok := errors.AsType[*resource.WaitError](err); ok {
		t.waits = true
		t.result.state, t.result.message = report.Skipped, text.Error(wait)
		return
	}
	t.result.fail(fmt.Errorf("cannot generate its resources: %w", err))
}

// applyGenerated handles a generated resource. It takes the place of its parent in the graph, so
// that its events go to the same resources.
func (t *traversal) applyGenerated(ctx context.Context, parent *turn, res resource.Resource) {
	c := t.readGenerated(ctx, parent, res)
	ctx = host.UntilAbort(ctx)
	if t.inCatalog(ctx, c) != nil {
		return
	}
	t.write(ctx, []*turn{c})
	t.handleEvents(ctx, c)
	t.conclude(c)
	parent.include(c)
	t.epochs.follows(parent.node, c.written)
	t.ownership.dropGenerated(c)
	// There may be very many resources in sync, so nothing is stored for them: neither a report nor,
	// until one was changed, the values to detect drift from.
	if c.result.state == report.InSync && c.result.unknown == "" {
		t.generation.inSync.Add(c.report(t.Now()))
	} else {
		t.emit(c.report(t.Now()))
	}
	changed := c.result.state == report.Changed
	if changed && c.identity != "" {
		t.generation.changes[plan.Key{Kind: c.Ref.Kind, Name: c.identity}] = generatedChange{parent, c}
	}
	if changed || t.records.isKnown(c.object) {
		t.remember(c)
		t.generation.remembered = append(t.generation.remembered, c.object)
	}
}

// readGenerated returns the turn of a generated resource once it was read.
func (t *traversal) readGenerated(ctx context.Context, parent *turn, res resource.Resource) *turn {
	n := &node{Item: &resource.Item{Ref: res.Ref(), Resource: res}, index: parent.index, parent: parent.node, noop: parent.noop}
	n.object = n.Object()
	c := &turn{node: n, began: t.Now()}
	c.situation.Noop = parent.noop
	t.chooseProvider(c)
	if c.isRefused() {
		return c
	}
	_ = t.reads.one(ctx, t.calls.new().Reader(t.calls.hostOf(n)), n) // n has it
	n.object = n.Object()
	t.stopIfReadInterrupted(ctx, c)
	if n.reading.err == nil {
		t.compare(c)
		c.compared, c.situation.Changes, c.outOfSync = true, c.comparison.Changes, len(c.comparison.Changes) > 0
	}
	return c
}

// include makes the result of a resource that of one that it generated, too.
func (t *turn) include(c *turn) {
	t.blocks = t.blocks || c.blocks
	t.forecast.pending = t.forecast.pending || c.forecast.pending
	t.complete = t.complete && (c.result.state == report.InSync || c.result.state == report.Changed)
}

// An inventory tells a generating resource about the others of a run.
type inventory struct{ t *traversal }

func (v inventory) Has(kind, name string) bool {
	return slices.ContainsFunc(v.family(kind), func(k string) bool {
		_, ok := v.t.names.find(plan.Key{Kind: k, Name: name})
		return ok
	})
}

// family returns a kind and those that manage the same objects.
func (v inventory) family(kind string) []string {
	all := []string{kind}
	own, ok := v.Kind(kind)
	if !ok || own.Traits().Family == "" {
		return all
	}
	for _, k := range v.t.Kinds {
		if k.Name() != kind && k.Traits().Family == own.Traits().Family {
			all = append(all, k.Name())
		}
	}
	return all
}

func (v inventory) Names(kind string) iter.Seq[string] { return v.t.names.of(kind) }

func (v inventory) Withheld(kind string) iter.Seq[resource.Withheld] {
	family := v.family(kind)
	return func(yield func(resource.Withheld) bool) {
		for _, w := range v.t.Withheld {
			if slices.Contains(family, w.Ref.Kind) && !yield(w) {
				return
			}
		}
		for _, n := range v.t.order.nodes {
			if n.Resource == nil && slices.Contains(family, n.Ref.Kind) && !yield(n.withheld()) {
				return
			}
		}
	}
}

func (v inventory) Unnamed(ctx context.Context, kind string) (resource.Ref, error) {
	for _, k := range v.family(kind) {
		if ref, err := v.t.nameRest(ctx, k); err != nil {
			return ref, err
		}
	}
	return resource.Ref{}, nil
}

func (v inventory) Kind(name string) (resource.Kind, bool) {
	for _, k := range v.t.Kinds {
		if k.Name() == name {
			return k, true
		}
	}
	return nil, false
}

func (v inventory) Facts() resource.Facts { return v.t.Facts }

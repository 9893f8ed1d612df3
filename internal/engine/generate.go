package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/text"
)

// A catalogView is a generating resource's view of a run.
type catalogView struct {
	r  *run
	of *entry
}

func (s catalogView) Has(kind, name string) bool {
	s.of.looked = true
	return slices.ContainsFunc(s.family(kind), func(k string) bool {
		_, ok := s.r.plan.Keys[plan.Key{Kind: k, Name: name}]
		return ok
	})
}

// family returns a kind and those that manage the same things.
func (s catalogView) family(kind string) []string {
	all := []string{kind}
	own, ok := s.Kind(kind)
	if !ok || own.Traits().Family == "" {
		return all
	}
	for _, k := range s.r.Kinds {
		if k.Name() != kind && k.Traits().Family == own.Traits().Family {
			all = append(all, k.Name())
		}
	}
	return all
}

func (s catalogView) Names(kind string) iter.Seq[string] {
	s.of.looked = true
	return func(yield func(string) bool) {
		for k := range s.r.plan.Keys {
			if k.Kind == kind && !yield(k.Name) {
				return
			}
		}
	}
}

func (s catalogView) Withheld(kind string) iter.Seq[resource.Withheld] {
	s.of.looked = true
	family := s.family(kind)
	return func(yield func(resource.Withheld) bool) {
		for _, w := range s.r.Withheld {
			if slices.Contains(family, w.Ref.Kind) && !yield(w) {
				return
			}
		}
		for _, e := range s.r.entries {
			if e.Resource == nil && slices.Contains(family, e.Ref.Kind) && !yield(e.withheld()) {
				return
			}
		}
	}
}

// withheld describes a resource that could not be bound.
func (e *entry) withheld() resource.Withheld {
	w := resource.Withheld{Ref: e.Ref, Location: e.Location}
	if e.Invalid != nil {
		w.Why = text.Error(e.Invalid)
	}
	return w
}

func (s catalogView) Unnamed(ctx context.Context, kind string) (resource.Ref, error) {
	s.of.looked = true
	for _, k := range s.family(kind) {
		if ref, err := s.r.nameRest(ctx, k); err != nil {
			return ref, err
		}
	}
	return resource.Ref{}, nil
}

func (s catalogView) Kind(name string) (resource.Kind, bool) {
	for _, k := range s.r.Kinds {
		if k.Name() == name {
			return k, true
		}
	}
	return nil, false
}

func (s catalogView) Facts() resource.Facts { return s.r.Facts }

// mostGenerated is the maximum number of reports about the resources that one resource generates. Users can make any number of
// files, and each report takes memory until the end of the run.
const mostGenerated = 50_000

// generate handles the resources that a resource generates, one by one, before its dependents. If
// one fails, the dependents are skipped, but the other generated resources are still handled.
func (r *run) generate(ctx context.Context, e *entry) {
	if decide.Refusal(e.situation).Action != decide.Keep || e.failed() || !e.Resource.Abilities().Generate {
		return
	}
	h := r.generatingReader(e)
	e.complete = true
	before := len(r.reports)
	err := resource.Guarded(func() error {
		for res, err := range e.Resource.Generate(ctx, h, catalogView{r, e}) {
			if ctx.Err() != nil {
				return fmt.Errorf("the run was stopped before all was done: %w", ctx.Err())
			}
			if err != nil {
				return err
			}
			if r.applyGenerated(ctx, e, res); len(r.reports)-before >= mostGenerated {
				return fmt.Errorf("more than %d of them are out of sync: the next run continues", mostGenerated)
			}
		}
		return nil
	})
	if err != nil {
		e.complete = false
		e.endGenerating(err)
	}
	r.generators = append(r.generators, generator{e, r.writes})
	e.attachRemainingNotes()
}

// generatingReader returns the host as a resource reads it to generate others.
func (r *run) generatingReader(e *entry) resource.Reader {
	call := r.call()
	call.Note = e.addNote
	if e.situation.Noop || r.isPlan() {
		call.Planned, call.PlannedNames = r.plannedByNow, r.pendingNames
	}
	return call.Reader(r.hostOf(e))
}

// endGenerating reports that a resource has not generated all that it should.
func (e *entry) endGenerating(err error) {
	if wait, ok := errors.AsType[*resource.WaitError](err); ok {
		e.waits = true
		e.report.State, e.report.Message = report.Skipped, text.Error(wait)
		return
	}
	e.fail(fmt.Errorf("cannot generate its resources: %w", err))
}

// readGenerated reads a generated resource.
func (r *run) readGenerated(ctx context.Context, parent *entry, res resource.Resource) *entry {
	c := &entry{Item: resource.Item{Ref: res.Ref(), Resource: res}, node: parent.node, began: r.Now(), generator: parent}
	c.thing = c.Thing()
	c.report.Ref = report.Ref(c.Ref)
	c.situation.Noop = parent.situation.Noop
	r.choose(c)
	if decide.Refusal(c.situation).Action == decide.Keep {
		r.noteReadError(ctx, c, r.readOne(ctx, r.call().Reader(r.hostOf(c)), c))
		c.thing = c.Thing()
		r.compare(c)
	}
	return c
}

// inCatalog returns the resource of the catalog that manages the same thing as one that is generated, or that removes what left the
// catalog, under another name such as a path through a symlink; nil if there is none, or nothing to change. The one in the catalog
// takes precedence.
func (r *run) inCatalog(ctx context.Context, c *entry) *entry {
	if len(c.situation.Changes) == 0 {
		return nil
	}
	if c.Resource.Traits().CanonicalNames { // which generators did not know
		return r.owners[c.Thing()]
	}
	if !c.Resource.Abilities().Identify {
		return nil
	}
	r.findDuplicates(ctx, []*entry{c})
	found, err := bound.IdentifyAll(ctx, r.sharedReaderOf(r.hostOf(c)), []resource.Resource{c.Resource})
	if err != nil || found[0] == "" {
		return nil
	}
	c.identity = found[0]
	if same := r.identified[plan.Key{Kind: c.Ref.Kind, Name: c.identity}]; len(same) > 0 {
		return same[0]
	}
	return nil
}

// applyGenerated handles a generated resource. It takes the place of its parent in the graph, so
// that its events go to the same resources.
func (r *run) applyGenerated(ctx context.Context, parent *entry, res resource.Resource) {
	c := r.readGenerated(ctx, parent, res)
	ctx = host.UntilAbort(ctx)
	if r.inCatalog(ctx, c) != nil {
		return
	}
	r.write(ctx, []*entry{c})
	r.applyEvents(ctx, c)
	r.conclude(c)
	parent.answerFor(c)
	r.takeOverClaim(c)
	// There may be very many resources in sync, so nothing is stored for them: neither a report nor,
	// until one was changed, the values to detect drift from.
	if c.report.State == report.InSync && c.report.Unknown == "" {
		r.generatedInSync.Add(c.report)
	} else {
		r.emit(c.report)
	}
	if c.report.State == report.Changed && c.identity != "" {
		r.generatedChanges[plan.Key{Kind: c.Ref.Kind, Name: c.identity}] = generatedChange{parent, c}
	}
	if c.report.State == report.Changed || r.Store.Observed(c.thing) != nil {
		r.remember(c)
		r.generated = append(r.generated, c.thing)
	}
}

// answerFor makes a resource answer for one that it generated.
func (e *entry) answerFor(c *entry) {
	e.blocksDependents = e.blocksDependents || c.blocksDependents
	e.writtenAt = max(e.writtenAt, c.writtenAt)
	e.pending = e.pending || c.pending
	e.complete = e.complete && (c.report.State == report.InSync || c.report.State == report.Changed)
}

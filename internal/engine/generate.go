package engine

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// surroundings are what a generating resource may know of a run.
type surroundings struct{ r *run }

func (s surroundings) Has(kind, name string) bool {
	_, ok := s.r.plan.keys[key{kind, name}]
	return ok
}

func (s surroundings) Names(kind string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range s.r.plan.keys {
			if k.kind == kind && !yield(k.name) {
				return
			}
		}
	}
}

func (s surroundings) Missing(kind string) (resource.Ref, bool) {
	for _, ref := range s.r.Withheld {
		if ref.Kind == kind {
			return ref, true
		}
	}
	for _, e := range s.r.entries {
		if e.Ref.Kind == kind && e.Resource == nil {
			return e.Ref, true
		}
	}
	for _, refused := range s.r.Refused {
		if refused.Ref.Kind == kind {
			return resource.Ref(refused.Ref), true
		}
	}
	return resource.Ref{}, false
}

func (s surroundings) Kind(name string) (resource.Kind, bool) {
	return kindOf(s.r.Kinds, name)
}

func kindOf(kinds []resource.Kind, name string) (resource.Kind, bool) {
	for _, k := range kinds {
		if k.Name() == name {
			return k, true
		}
	}
	return nil, false
}

func (s surroundings) Facts() resource.Facts { return s.r.Facts }

// generate deals with what a resource brings along, one by one, before anything that
// comes after the resource. One that fails holds up what comes after, as the resource
// itself would; the others go on.
func (r *run) generate(ctx context.Context, e *entry) {
	if refusal(e.situation).Action != Keep || e.failed() || !e.Resource.CanGenerate() {
		return
	}
	call := r.call()
	call.Note = e.note
	h := call.Reader(r.Reader)
	err := resource.Guarded(func() error {
		for res, err := range e.Resource.Generate(host.UntilAbort(ctx), h, surroundings{r}) {
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return fmt.Errorf("the run was stopped before all was done: %w", ctx.Err())
			}
			r.child(host.UntilAbort(ctx), e, res)
		}
		return nil
	})
	if err != nil {
		e.fail(fmt.Errorf("cannot generate its resources: %w", err))
	}
	r.generators = append(r.generators, generator{e, r.writes})
	e.remark()
}

// remark keeps what a resource told while it brought others along: with its last event
// or, where it has none, as its message.
func (e *entry) remark() {
	switch n := len(e.report.Events); {
	case e.told == "":
		return
	case n > 0:
		e.report.Events[n-1].Output += e.told
	case e.report.Message == "":
		e.report.Message = strings.TrimRight(e.told, "\n")
	}
	e.told = ""
}

// newChild reads a generated resource.
func (r *run) newChild(ctx context.Context, parent *entry, res resource.Resource) *entry {
	c := &entry{Item: resource.Item{Ref: res.Ref(), Resource: res}, node: parent.node, began: r.Now()}
	c.thing = c.Thing()
	c.report.Ref = Ref(c.Ref)
	c.situation.Noop = parent.situation.Noop
	r.choose(c)
	if refusal(c.situation).Action == Keep {
		c.situation.ReadError = r.readOne(ctx, r.reader, c)
		r.compare(c)
	}
	return c
}

// inCatalog reports whether a generated resource that is to be changed is one of the catalog's
// by another name, such as a path through a symlink. The catalog's own goes before it.
func (r *run) inCatalog(ctx context.Context, c *entry) bool {
	if len(c.situation.Changes) == 0 || !c.Resource.CanIdentify() {
		return false
	}
	r.tellApart(ctx, []*entry{c})
	found, err := bound.IdentifyAll(ctx, r.sharedReader(), []resource.Resource{c.Resource})
	if err != nil || found[0] == "" {
		return false
	}
	c.identity = found[0]
	return len(r.identified[key{c.Ref.Kind, c.identity}]) > 0
}

// child takes a generated resource to its end. It stands in its parent's place in the
// graph, so its events go where the parent's go.
func (r *run) child(ctx context.Context, parent *entry, res resource.Resource) {
	c := r.newChild(ctx, parent, res)
	if r.inCatalog(ctx, c) {
		return
	}
	r.write(ctx, []*entry{c})
	r.settle(ctx, c)
	r.conclude(c)
	parent.bad = parent.bad || c.bad
	parent.writtenAt = max(parent.writtenAt, c.writtenAt)
	parent.pending = parent.pending || c.pending
	r.inherit(c)
	// Of very many in sync nothing is kept: neither a report nor, until one was
	// changed, what drift is told from.
	if c.report.State == InSync {
		r.quiet.add(c.report)
	} else {
		r.tell(c.report)
	}
	if c.report.State == Changed && c.identity != "" {
		r.brought[key{c.Ref.Kind, c.identity}] = broughtAlong{parent, c}
	}
	if c.report.State == Changed || r.Store.Observed(c.thing) != nil {
		r.remember(c)
		r.generated = append(r.generated, c.thing)
	}
}

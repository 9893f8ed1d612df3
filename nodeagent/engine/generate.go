package engine

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
)

// Has reports whether the catalog has a resource of a kind with a name on the host.
func (r *run) Has(kind, name string) bool {
	_, ok := r.plan.keys[key{kind, name}]
	return ok
}

// generate deals with what a resource brings along, one by one, before anything that
// comes after the resource. One that fails holds up what comes after, as the resource
// itself would; the others go on.
func (r *run) generate(ctx context.Context, e *entry) {
	if refusal(e.situation).Action != Keep || e.failed() || !e.Resource.CanGenerate() {
		return
	}
	err := guard(func() error {
		for res, err := range e.Resource.Generate(context.WithoutCancel(ctx), r.reader, r) {
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return fmt.Errorf("the run was stopped before all was done: %w", ctx.Err())
			}
			r.child(context.WithoutCancel(ctx), e, res)
		}
		return nil
	})
	if err != nil {
		e.fail(fmt.Errorf("cannot generate its resources: %w", err))
	}
}

// child takes a generated resource to its end. It stands in its parent's place in the
// graph, so its events go where the parent's go.
func (r *run) child(ctx context.Context, parent *entry, res resource.Resource) {
	c := &entry{Item: resource.Item{Ref: res.Ref(), Resource: res}, node: parent.node, began: r.Now()}
	c.report.Ref = Ref(c.Ref)
	c.situation.Noop = parent.situation.Noop
	r.choose(c)
	if refusal(c.situation).Action == Keep {
		c.situation.ReadError = r.readOne(ctx, c)
		c.compare()
	}
	r.write(ctx, []*entry{c})
	r.settle(ctx, c)
	r.conclude(c)
	parent.bad = parent.bad || c.bad
	// Of very many in sync nothing is kept: neither a report nor, until one was
	// changed, what drift is told from.
	if c.report.State == InSync {
		r.quiet.add(c.report)
	} else {
		r.tell(c.report)
	}
	if c.report.State == Changed || r.Store.Observed(c.Ref) != nil {
		r.remember(c)
		r.generated = append(r.generated, c.Ref)
	}
}

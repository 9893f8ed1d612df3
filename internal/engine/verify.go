package engine

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// A change with side effects may undo earlier results: removing a package may remove others too.
// Resources that were handled before the last such change are therefore read again at the end of the
// run, and fail if they are out of sync. A run without such changes reads nothing again.

// verifyAtEnd fails resources that later changes of the same run undid.
func (r *run) verifyAtEnd(ctx context.Context) {
	type means struct{ kind, provider string }
	groups := map[means][]*entry{}
	var order []means
	for _, e := range r.entries {
		if len(r.suspects(e)) == 0 {
			continue
		}
		m := means{e.Ref.Kind, e.report.Provider}
		if groups[m] == nil {
			order = append(order, m)
		}
		groups[m] = append(groups[m], e)
	}
	for _, m := range order {
		r.readAgain(ctx, groups[m])
	}
}

// suspects returns the resources that may have undone another one since it was read last. There are
// none if that one was out of sync.
func (r *run) suspects(e *entry) []resource.Ref {
	if !e.seenInSync() || e.Deletes != nil || e.situation.Noop || e.Resource.Traits().Imperative {
		return nil
	}
	var suspects []resource.Ref
	for i := len(r.effects) - 1; i >= 0 && r.effects[i].at >= e.readAt; i-- {
		if ref := r.effects[i].of.Ref; r.effects[i].of != e {
			suspects = append(suspects, ref)
		}
	}
	return unique(suspects)
}

func unique(refs []resource.Ref) []resource.Ref {
	seen := map[resource.Ref]bool{}
	var out []resource.Ref
	for _, ref := range refs {
		if !seen[ref] {
			out = append(out, ref)
		}
		seen[ref] = true
	}
	return out
}

// readAgain reads resources of one kind and provider again, and fails those that are out of sync.
func (r *run) readAgain(ctx context.Context, group []*entry) {
	suspects := make([][]resource.Ref, len(group))
	for i, e := range group {
		suspects[i] = r.suspects(e)
	}
	for i, err := range r.readAllOf(ctx, group) {
		e := group[i]
		if err != nil {
			r.failLater(e, fmt.Errorf("cannot tell whether later changes, of %s, undid it: %w", text.List(suspects[i]), err))
			continue
		}
		if r.compareState(e); len(e.comparison.Changes) > 0 {
			e.report.OutOfSync = true
			r.failLater(e, fmt.Errorf("was undone in the same run, by %s: %s", text.List(suspects[i]), outOfSync(e.comparison.Changes)))
		}
	}
}

// failLater fails a resource that has ended. Its report is replaced and published again.
func (r *run) failLater(e *entry, err error) {
	if e.report.State == report.Skipped && !e.waits || e.report.State == report.Failed {
		return
	}
	e.report.Message = ""
	e.fail(err)
	e.blocksDependents = true
	e.report.Differs = e.differs()
	r.remember(e)
	r.reports[e.reported] = e.report
	if r.Observe != nil {
		r.Observe(e.report)
	}
}

// A generator is a resource that generated others, with the number of writes at the end of that.
type generator struct {
	of *entry
	at int
}

// A generatedChange is a generated resource that was changed, and the one that generated it.
type generatedChange struct{ parent, change *entry }

// verifyGenerated fails resources if something that they generated was undone in the same run: by
// what another one generated, as a Tidy removes what a File copies, or by a change with side
// effects, such as the removal of a package. Without either, it reads nothing.
func (r *run) verifyGenerated(ctx context.Context) {
	for _, g := range r.generators {
		if effects := r.effectsSince(g); !g.of.blocksDependents && !g.of.situation.Noop && (len(effects) > 0 || r.changedSince(g)) {
			r.verifyGenerator(ctx, g.of, effects)
		}
	}
}

// effectsSince returns the other resources that made changes with side effects later.
func (r *run) effectsSince(g generator) (refs []resource.Ref) {
	for _, effect := range r.effects {
		if effect.at > g.at && effect.of != g.of {
			refs = append(refs, effect.of.Ref)
		}
	}
	return unique(refs)
}

// changedSince reports whether something that another resource generated was changed later.
func (r *run) changedSince(g generator) bool {
	for _, b := range r.generatedChanges {
		if b.parent != g.of && b.change.writtenAt > g.at {
			return true
		}
	}
	return false
}

// verifyGenerator looks for a generated resource that is out of sync again. New things to remove
// don't count.
func (r *run) verifyGenerator(ctx context.Context, e *entry, effects []resource.Ref) {
	_ = resource.Guarded(func() error { // a failure says nothing of what others undid
		for res, err := range e.Resource.Generate(ctx, r.sharedReaderOf(r.hostOf(e)), catalogView{r, e}) {
			if err != nil {
				return err
			}
			c := r.readGenerated(ctx, e, res)
			if len(c.situation.Changes) == 0 || r.inCatalog(ctx, c) != nil {
				continue
			}
			if other, ok := r.generatedChanges[plan.Key{Kind: c.Ref.Kind, Name: c.identity}]; ok && other.parent != e {
				r.failLater(e, fmt.Errorf("%s of this resource was undone in the same run, by %s: %s: keep the two apart, as by ignore",
					c.Ref, other.parent.Ref, outOfSync(c.comparison.Changes)))
				r.failLater(other.parent, fmt.Errorf("undid in the same run %s of %s: keep the two apart, as by ignore", c.Ref, e.Ref))
				return nil
			}
			if len(effects) > 0 && !c.situation.Changes[0].Removes() {
				r.failLater(e, fmt.Errorf("%s of this resource was undone in the same run, by %s: %s", c.Ref, text.List(effects), outOfSync(c.comparison.Changes)))
				return nil
			}
		}
		return nil
	})
}

package engine

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/text"
)

// A change with side effects may undo what was found or made in sync before it: the removal
// of a package takes others along. So what was dealt with before the last such change is read
// again at the end of the run, and fails if it is not as it should be any more. A run without
// such changes has nothing to read.

// A sideEffect is a write or a refresh with side effects.
type sideEffect struct {
	at int // the writes up to it
	of *entry
}

// findUndone fails what later changes of the same run undid.
func (r *run) findUndone(ctx context.Context) {
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
		r.lookAgain(ctx, groups[m])
	}
}

// suspects are the resources that may have undone another one since it was read last; none if
// it was not seen in sync.
func (r *run) suspects(e *entry) []resource.Ref {
	if !e.seenInSync() || e.Deletes != nil || e.situation.Noop || e.Resource.Acts() {
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

// seenInSync reports whether a resource was as it should be when it was read last.
func (e *entry) seenInSync() bool {
	return e.looked && (e.report.State == InSync || e.report.State == Changed || e.report.State == Refreshed)
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

// lookAgain reads resources of one kind and provider, and fails those that are not in sync.
func (r *run) lookAgain(ctx context.Context, group []*entry) {
	suspects := make([][]resource.Ref, len(group))
	for i, e := range group {
		suspects[i] = r.suspects(e)
	}
	for i, err := range r.readAllOf(ctx, group) {
		e := group[i]
		if err != nil {
			r.amend(e, fmt.Errorf("cannot tell whether later changes, of %s, undid it: %w", text.List(suspects[i]), err))
			continue
		}
		if r.compareAgain(e); len(e.comparison.Changes) > 0 {
			e.report.OutOfSync = true
			r.amend(e, fmt.Errorf("was undone in the same run, by %s: %s", text.List(suspects[i]), outOfSync(e.comparison)))
		}
	}
}

// readAllOf reads resources of one kind and provider, in one go where that is possible. The
// errors are parallel to them.
func (r *run) readAllOf(ctx context.Context, group []*entry) []error {
	if !group[0].Resource.CanBatchRead() {
		return r.readTogether(ctx, group)
	}
	all := make([]resource.Resource, len(group))
	for i, e := range group {
		all[i] = e.Resource
	}
	errs := bound.ReadAll(ctx, r.reader, all)
	for i, err := range errs {
		errs[i] = r.note(group[i], err)
	}
	return errs
}

// amend fails a resource that has ended: its report is replaced, and told again.
func (r *run) amend(e *entry, err error) {
	if e.report.State == Skipped || e.report.State == Failed {
		return
	}
	e.report.Message = ""
	e.fail(err)
	e.bad = true
	r.remember(e)
	r.reports[e.reported] = e.report
	if r.Observe != nil {
		r.Observe(e.report)
	}
}

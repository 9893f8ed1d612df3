package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// In noop, the host has none of the run's changes. A check that fails only because an apply would
// first change other resources is therefore not a failure.

// noteAppliedFirst records which resources an apply would change before this one, in noop.
func (r *run) noteAppliedFirst(e *entry) {
	if e.situation.Noop {
		e.situation.AppliedFirst = r.pendingBefore(e, func(*entry) bool { return true })
	}
}

// noteAnyAppliedFirst is noteAppliedFirst for a missing provider: any other resource may bring that,
// whatever the order.
func (r *run) noteAnyAppliedFirst(e *entry) {
	r.noteAppliedFirst(e)
	if e.situation.Noop && len(e.situation.AppliedFirst) == 0 {
		e.situation.AppliedFirst = refsOf(r.entries, func(o *entry) bool { return o.pending })
	}
}

// pendingBefore returns the pending resources that a resource depends on, directly or not, in the
// order of the catalog.
func (r *run) pendingBefore(e *entry, of func(*entry) bool) []resource.Ref {
	seen := r.before([]int{e.node})
	return refsOf(r.entries, func(o *entry) bool { return seen[o.node] && o != e && o.pending && of(o) })
}

func refsOf(entries []*entry, which func(*entry) bool) []resource.Ref {
	var refs []resource.Ref
	for _, e := range entries {
		if which(e) {
			refs = append(refs, e.Ref)
		}
	}
	return refs
}

// reportNoop reports changes that noop prevents, and whether they would fail.
func (r *run) reportNoop(ctx context.Context, group []*entry) {
	group = slices.DeleteFunc(group, func(e *entry) bool { return len(e.situation.Changes) == 0 })
	errs := r.precheck(ctx, group)
	for i, e := range group {
		if err := r.obstacle(e, errs[i]); err != nil {
			e.fail(fmt.Errorf("cannot be applied: %w", err))
			continue
		}
		for _, c := range e.situation.Changes {
			ev := r.event(e, c, nil)
			ev.Status, ev.Message = report.Pending, c.Message
			e.report.Events = append(e.report.Events, ev)
		}
		e.attachNotes()
		r.notePending(e)
	}
}

// precheck returns what would make the changes of a group fail, as far as their provider can tell.
// The errors are parallel to the group.
func (r *run) precheck(ctx context.Context, group []*entry) []error {
	if len(group) == 0 || !group[0].Resource.Abilities().Precheck { // a group is of one kind and provider
		return make([]error, len(group))
	}
	items := make([]resource.BatchItem, len(group))
	for i, e := range group {
		items[i] = e.batchItem()
	}
	return bound.PrecheckAll(ctx, r.sharedReaderOf(r.hosts.simulated), items)
}

// notePending records what an apply would have made before it gets to other resources.
func (r *run) notePending(e *entry) {
	e.pending = true
	if e.situation.Changes[0].Removes() {
		return
	}
	for _, name := range e.Resource.Keys() {
		r.pendingKeys[plan.Key{Kind: e.Ref.Kind, Name: name}] = true
	}
}

// obstacle returns what would make the changes of a resource fail, or nil. It leaves out what the
// run would have resolved before.
func (r *run) obstacle(e *entry, err error) error {
	_, provisional := errors.AsType[*resource.ProvisionalError](err)
	if err == nil || len(r.pendingBefore(e, func(o *entry) bool { return provisional || o.Resource.Traits().SideEffects })) > 0 {
		return nil
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var left []error
	for _, err := range all {
		if !r.willResolve(err) {
			left = append(left, err)
		}
	}
	return errors.Join(left...)
}

// willResolve reports whether an error is about something missing that the run would have made by
// now.
func (r *run) willResolve(err error) bool {
	missing, ok := errors.AsType[*resource.MissingError](err)
	return ok && (r.willCreate(missing) || r.willResolve(missing.Err))
}

// willCreate reports whether the run would have made what is missing.
func (r *run) willCreate(missing *resource.MissingError) bool {
	if !strings.HasSuffix(missing.Name, "/") {
		return r.pendingKeys[plan.Key{Kind: missing.Kind, Name: missing.Name}]
	}
	for made := range r.pendingKeys {
		if made.Kind == missing.Kind && strings.HasPrefix(made.Name, missing.Name) {
			return true
		}
	}
	return false
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/text"
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
		if reasons := slices.Concat(e.doubts, unknownChanges(e.situation.Changes), unknownReasons(errs[i])); len(reasons) > 0 {
			e.noteUnknown(strings.Join(slices.Compact(reasons), ", "))
		}
		for _, c := range e.situation.Changes {
			ev := r.event(e, c, nil)
			ev.Status, ev.Message = report.Pending, cmp.Or(c.Pending, c.Message)
			e.report.Events = append(e.report.Events, ev)
		}
		e.attachNotes()
		r.notePending(e)
	}
}

// precheckRead records whether an apply may find another state at this point.
func (r *run) precheckRead(ctx context.Context, e *entry) {
	if !e.situation.Noop || !e.compared || len(r.planned) == 0 || decide.Refusal(e.situation).Action != decide.Keep {
		return
	}
	err := resource.Guarded(func() error { return e.Resource.PrecheckRead(ctx, r.planReader()) })
	e.doubts = unknownReasons(err)
	if _, provisional := errors.AsType[*resource.ProvisionalError](err); provisional {
		if before := r.pendingBefore(e, func(*entry) bool { return true }); len(before) > 0 {
			e.doubts = append(e.doubts, "comes after "+text.List(before))
		}
	}
	if len(e.doubts) > 0 && len(e.situation.Changes) == 0 {
		e.pending = true // it may be changed
		e.noteUnknown(strings.Join(e.doubts, ", "))
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
	return bound.PrecheckAll(ctx, r.planReader(), items)
}

// planReader is the host together with what would have been changed by now.
func (r *run) planReader() resource.Reader {
	return r.planningCall().Reader(r.hosts.simulated)
}

// planningCall returns the context of a call that predicts what an apply would do. Calls share what they look up until something more is
// planned or written.
func (r *run) planningCall() resource.Call {
	if now := (planned{len(r.planned), r.writes}); r.foreseen == nil || r.foreseenAt != now {
		r.foreseen, r.foreseenAt = resource.NewMemo(), now
	}
	c := r.call()
	c.Memo, c.Planned, c.PlannedNames = r.foreseen, r.plannedByNow, r.pendingNames
	return c
}

// A planned is a moment of a run in noop, by how much was planned and written before.
type planned struct{ changes, writes int }

func (r *run) pendingNames(kind string) map[string]bool { return r.pendingKeys[kind] }

func (r *run) plannedByNow() []any { return r.planned }

// notePending records what an apply would have made before it gets to other resources.
func (r *run) notePending(e *entry) {
	e.pending = true
	r.planned = append(r.planned, bound.Planned(e.Resource, e.situation.Changes))
	names := r.pendingKeys[e.Ref.Kind]
	if names == nil {
		names = map[string]bool{}
		r.pendingKeys[e.Ref.Kind] = names
	}
	for _, name := range e.Resource.Keys() {
		names[name] = !e.situation.Changes[0].Removes()
	}
}

// obstacle returns what would make the changes of a resource fail, or nil. It leaves out what the
// run would have resolved before. If it may resolve the rest, the outcome is unknown.
func (r *run) obstacle(e *entry, err error) error {
	var left []error
	for _, err := range resource.Parts(err) {
		if _, unknown := errors.AsType[*resource.UnknownError](err); !unknown && !r.willResolve(err) {
			left = append(left, err)
		}
	}
	if len(left) == 0 {
		return nil
	}
	provisional := func(err error) bool {
		_, is := errors.AsType[*resource.ProvisionalError](err)
		return is
	}
	may := r.pendingBefore(e, func(o *entry) bool { return slices.ContainsFunc(left, provisional) || o.decidedOutside })
	if len(may) == 0 {
		return errors.Join(left...)
	}
	e.noteUnknown("comes after " + text.List(may))
	return nil
}

// unknownChanges returns why nobody can tell whether these changes would be made.
func unknownChanges(changes []resource.Change) []string {
	var reasons []string
	for _, c := range changes {
		if c.Unknown != "" {
			reasons = append(reasons, c.Unknown)
		}
	}
	return reasons
}

// unknownReasons returns the reasons of errors about an unknown outcome.
func unknownReasons(err error) []string {
	var reasons []string
	for _, err := range resource.Parts(err) {
		if unknown, ok := errors.AsType[*resource.UnknownError](err); ok {
			reasons = append(reasons, unknown.Reason)
		}
	}
	return reasons
}

// noteUnknownBefore records that an apply may find another state, because foreign code of a resource that this one depends on,
// directly or not, may change it.
func (r *run) noteUnknownBefore(e *entry) {
	if !e.situation.Noop {
		return
	}
	e.unknownAfter = r.unknownBefore(e)
	if e.unknownAfter != nil && e.compared && e.report.State != report.Failed && e.report.Unknown == "" {
		e.report.Unknown = "comes after " + e.unknownAfter.Ref.String()
	}
}

// unknownBefore returns the first resource with an unknown outcome that a resource depends on, directly or not; nil if there is none.
func (r *run) unknownBefore(e *entry) *entry {
	for _, n := range r.plan.Before[e.node] {
		switch before := r.entries[n]; {
		case before == e:
		case before.decidedOutside:
			return before
		case before.unknownAfter != nil:
			return before.unknownAfter
		}
	}
	return nil
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
		return r.pendingKeys[missing.Kind][missing.Name]
	}
	for made, there := range r.pendingKeys[missing.Kind] {
		if there && strings.HasPrefix(made, missing.Name) {
			return true
		}
	}
	return false
}

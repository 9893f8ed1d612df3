package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// In noop, the host has none of the run's changes. A check that fails only because an apply would
// first change other resources is therefore not a failure.

// A prediction is what a turn in noop says about an apply.
type prediction struct {
	pending      bool     // the resource would be changed, or may be once others are
	unknown      bool     // only an apply can tell the outcome, whatever comes before; see [resource.UnknownError]
	doubts       []string // why an apply may find another state
	unknownAfter *turn    // such a resource that it comes after; nil if there is none
}

// A predictor predicts what an apply would do with the resources of a traversal that are in noop. It knows what that would have
// changed by now.
type predictor struct {
	order   order
	turns   []*turn // by node
	calls   *calls
	epochs  *epochs
	records *records

	writes []any                      // for [resource.Planned]
	names  map[string]map[string]bool // by kind and name: whether it would be there

	memo   *resource.Memo // what predictions have looked up since the last change of these
	memoOf plannedTime
}

// A plannedTime is a time in noop, by how much was planned and written before.
type plannedTime struct {
	writes int
	epoch  epoch
}

func (p *predictor) namesOf(kind string) map[string]bool { return p.names[kind] }

// add records what an apply would have made of a resource before it gets to others.
func (p *predictor) add(of resource.Resource, changes []resource.Change) {
	p.writes = append(p.writes, of.Planned(changes))
	kind := of.Ref().Kind
	names := p.names[kind]
	if names == nil {
		names = map[string]bool{}
		p.names[kind] = names
	}
	for _, name := range of.Keys() {
		names[name] = !changes[0].Removes()
	}
}

// resolves reports whether an error is about something missing that would have been made by now.
func (p *predictor) resolves(err error) bool {
	missing, ok := errors.AsType[*resource.MissingError](err)
	return ok && (p.creates(missing) || p.resolves(missing.Err))
}

// creates reports whether what is missing would have been made.
func (p *predictor) creates(missing *resource.MissingError) bool {
	if !strings.HasSuffix(missing.Name, "/") {
		return p.names[missing.Kind][missing.Name]
	}
	for made, there := range p.names[missing.Kind] {
		if there && strings.HasPrefix(made, missing.Name) {
			return true
		}
	}
	return false
}

// markUnknown records why only an apply can tell the outcome, whatever comes before.
func (t *turn) markUnknown(reason string) {
	t.forecast.unknown = true
	if t.result.unknown == "" {
		t.result.unknown = reason
	}
}

// awaitBefore records which resources an apply would change before this one, in noop.
func (p *predictor) awaitBefore(of *turn) {
	if of.noop {
		of.situation.AppliedFirst = p.pendingBefore(of, func(*turn) bool { return true })
	}
}

// awaitAny is awaitBefore for a missing provider: any other resource may bring that,
// whatever the order.
func (p *predictor) awaitAny(of *turn) {
	p.awaitBefore(of)
	if of.noop && len(of.situation.AppliedFirst) == 0 {
		of.situation.AppliedFirst = refsOf(p.turns, func(o *turn) bool { return o.forecast.pending })
	}
}

// pendingBefore returns the pending resources that a resource depends on, directly or not, in the
// order of the catalog.
func (p *predictor) pendingBefore(of *turn, which func(*turn) bool) []resource.Ref {
	before := p.order.ancestors(of.index)
	return refsOf(p.turns, func(o *turn) bool { return before[o.index] && o != of && o.forecast.pending && which(o) })
}

// reportNoop reports changes that noop prevents, and whether they would fail.
func (p *predictor) reportNoop(ctx context.Context, group []*turn) {
	group = slices.DeleteFunc(group, func(of *turn) bool { return len(of.situation.Changes) == 0 })
	errs := p.precheck(ctx, group)
	for i, of := range group {
		if err := p.obstacle(of, errs[i]); err != nil {
			of.result.fail(fmt.Errorf("cannot be applied: %w", err))
			continue
		}
		if reasons := slices.Concat(of.forecast.doubts, unknownChanges(of.situation.Changes), unknownReasons(errs[i])); len(reasons) > 0 {
			of.markUnknown(strings.Join(slices.Compact(reasons), ", "))
		}
		for _, c := range of.situation.Changes {
			ev := p.records.event(of, c, nil)
			ev.Status, ev.Message = report.Pending, cmp.Or(c.Pending, c.Message)
			of.result.add(ev)
		}
		of.attachNotes()
		of.forecast.pending = true
		p.add(of.Resource, of.situation.Changes)
	}
}

// precheckRead records whether an apply may find another state at this point.
func (p *predictor) precheckRead(ctx context.Context, of *turn) {
	if !of.noop || !of.compared || len(p.writes) == 0 || of.isRefused() {
		return
	}
	err := resource.Guarded(func() error { return of.Resource.PrecheckRead(ctx, p.reader()) })
	doubts := unknownReasons(err)
	if _, provisional := errors.AsType[*resource.ProvisionalError](err); provisional {
		if before := p.pendingBefore(of, func(*turn) bool { return true }); len(before) > 0 {
			doubts = append(doubts, "comes after "+text.List(before))
		}
	}
	of.forecast.doubts = doubts
	if len(doubts) > 0 && len(of.situation.Changes) == 0 {
		of.forecast.pending = true // it may be changed
		of.markUnknown(strings.Join(doubts, ", "))
	}
}

// precheck returns what would make the changes of a group fail, as far as their provider can tell.
// The errors are parallel to the group.
func (p *predictor) precheck(ctx context.Context, group []*turn) []error {
	if len(group) == 0 || !group[0].Resource.Abilities().Precheck { // a group is of one kind and provider
		return make([]error, len(group))
	}
	items := make([]resource.BatchItem, len(group))
	for i, of := range group {
		items[i] = of.batchItem()
	}
	return group[0].Resource.Provider().Precheck(ctx, p.reader(), items)
}

// reader is the host together with what would have been changed by now.
func (p *predictor) reader() resource.Reader {
	return p.call().Reader(p.calls.hosts.simulated)
}

// call returns the context of a call that predicts what an apply would do. Calls share what they look up until something more is
// planned or written.
func (p *predictor) call() resource.Call {
	if now := (plannedTime{len(p.writes), p.epochs.now}); p.memoOf != now {
		p.memo, p.memoOf = resource.NewMemo(), now
	}
	c := p.calls.new()
	c.Memo, c.Planned, c.PlannedNames = p.memo, func() []any { return p.writes }, p.namesOf
	return c
}

// obstacle returns what would make the changes of a resource fail, or nil. It leaves out what the
// run would have resolved before. If it may resolve the rest, the outcome is unknown.
func (p *predictor) obstacle(of *turn, err error) error {
	var left []error
	for _, err := range resource.Parts(err) {
		if _, unknown := errors.AsType[*resource.UnknownError](err); !unknown && !p.resolves(err) {
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
	may := p.pendingBefore(of, func(o *turn) bool { return slices.ContainsFunc(left, provisional) || o.forecast.unknown })
	if len(may) == 0 {
		return errors.Join(left...)
	}
	of.markUnknown("comes after " + text.List(may))
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

// doubtAfterUnknown records that an apply may find another state, because foreign code of a resource that this one depends on,
// directly or not, may change it.
func (p *predictor) doubtAfterUnknown(of *turn) {
	if !of.noop {
		return
	}
	before := p.unknownBefore(of)
	of.forecast.unknownAfter = before
	if before != nil && of.compared && of.result.state != report.Failed && of.result.unknown == "" {
		of.result.unknown = "comes after " + before.Ref.String()
	}
}

// unknownBefore returns the first resource with an unknown outcome that a resource depends on, directly or not; nil if there is none.
func (p *predictor) unknownBefore(of *turn) *turn {
	for n := range p.order.before(of.node) {
		switch before := p.turns[n.index]; {
		case before == nil: // it has no turn
		case before.forecast.unknown:
			return before
		case before.forecast.unknownAfter != nil:
			return before.forecast.unknownAfter
		}
	}
	return nil
}

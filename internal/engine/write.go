package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/text"
)

// write makes the changes of a group: those that its provider takes together in one
// go, the others one by one.
func (r *run) write(ctx context.Context, group []*entry) {
	r.tellApart(ctx, group)
	var batch, pretended []*entry
	for _, e := range group {
		switch Decide(e.situation).Action {
		case Apply:
			err := resource.Guarded(func() error { return r.stake(ctx, e) })
			switch {
			case err != nil:
				e.fail(err)
			case e.Resource.CanBatchWrite() && e.situation.Changes[0].Property == resource.Ensure:
				batch = append(batch, e)
			default:
				r.writeOne(ctx, e)
			}
		case Pretend:
			pretended = append(pretended, e)
		default: // nothing to write
		}
	}
	r.pretend(ctx, pretended)
	r.writeTogether(ctx, batch)
}

func (r *run) writeOne(ctx context.Context, e *entry) {
	group := []*entry{e}
	r.writeAll(group, func() []error {
		return []error{resource.Guarded(func() error { return e.Resource.Write(ctx, r.writer(e), e.situation.Changes) })}
	})
	r.verify(ctx, group)
}

func (r *run) writeTogether(ctx context.Context, batch []*entry) {
	if len(batch) == 0 {
		return
	}
	items := make([]resource.BatchItem, len(batch))
	for i, e := range batch {
		items[i] = e.batchItem()
	}
	r.writeAll(batch, func() []error { return bound.WriteAll(ctx, r.call().Writer(r.Host), items) })
	r.verify(ctx, batch)
}

// writeAll writes, and turns changes and errors into events. Refreshes that may
// become due are on disk before the host changes, so that no crash loses one.
func (r *run) writeAll(group []*entry, write func() []error) {
	r.disturb()
	errs := make([]error, len(group))
	err := r.noteClaims(group)
	if err == nil {
		err = r.arm(group)
	}
	if err == nil {
		errs = write()
	}
	for i, e := range group {
		if err != nil {
			errs[i] = err
		} else {
			r.wrote(e)
		}
		if errors.Is(errs[i], resource.ErrNotBegun) {
			e.situation.Stopped = r.interrupted()
			r.stopped = e.situation.Stopped
			continue
		}
		for _, c := range e.situation.Changes {
			e.report.Events = append(e.report.Events, r.event(e, c, errorOf(errs[i], c.Property)))
		}
		e.tell()
	}
}

// errorOf is what the error of a write means for one of its properties: its own
// PropertyError, if the error is made of such alone; otherwise the whole of it.
func errorOf(err error, property string) error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var own error
	for _, e := range all {
		var one *resource.PropertyError
		if !errors.As(e, &one) {
			return err
		}
		if one.Property == property {
			own = one.Err
		}
	}
	return own
}

// verify reads the changed resources again. What is still not as it should be, the
// tool that changed it did not do what it said: that is a failure.
func (r *run) verify(ctx context.Context, group []*entry) {
	written := slices.DeleteFunc(slices.Clone(group), func(e *entry) bool { return e.Resource.Acts() || !e.changed() })
	for i, err := range r.readTogether(ctx, written) {
		e := written[i]
		if err == nil {
			r.compareAgain(e)
		}
		switch {
		case e.failed(): // in part: what was changed is remembered
		case err != nil:
			e.fail(fmt.Errorf("cannot verify the change: %w", err))
		case len(e.comparison.Changes) > 0:
			e.fail(errors.New("the change did not take effect: " + outOfSync(e.comparison)))
		}
	}
}

// outOfSync says what is not as it should be.
func outOfSync(c resource.Comparison) string {
	var left []string
	for _, c := range c.Changes {
		left = append(left, fmt.Sprintf("%s is %s, should be %s", c.Property, orAbsent(c.Is), orAbsent(c.Should)))
	}
	return strings.Join(left, "; ")
}

func orAbsent(s string) string {
	if s == "" {
		return resource.Absent
	}
	return s
}

// pretend reports changes that noop keeps from being made, and what would make them fail.
func (r *run) pretend(ctx context.Context, group []*entry) {
	group = slices.DeleteFunc(group, func(e *entry) bool { return len(e.situation.Changes) == 0 })
	errs := r.precheck(ctx, group)
	for i, e := range group {
		if err := r.hindrance(e, errs[i]); err != nil {
			e.fail(fmt.Errorf("cannot be applied: %w", err))
			continue
		}
		for _, c := range e.situation.Changes {
			ev := r.event(e, c, nil)
			ev.Status, ev.Message = Pending, c.Message
			e.report.Events = append(e.report.Events, ev)
		}
		e.tell()
		r.promise(e)
	}
}

// precheck asks providers that can tell what would make the changes of a group fail. The
// errors are parallel to it.
func (r *run) precheck(ctx context.Context, group []*entry) []error {
	if len(group) == 0 || !group[0].Resource.CanPrecheck() { // a group is of one kind and provider
		return make([]error, len(group))
	}
	items := make([]resource.BatchItem, len(group))
	for i, e := range group {
		items[i] = e.batchItem()
	}
	return bound.PrecheckAll(ctx, r.sharedReader(), items)
}

// promise notes what an apply would have made before it gets to other resources.
func (r *run) promise(e *entry) {
	e.pending = true
	if e.situation.Changes[0].Removes() {
		return
	}
	for _, name := range e.Resource.Keys() {
		r.made[key{e.Ref.Kind, name}] = true
	}
}

// event is what a change comes to. It is corrective when the value differs from what
// a run last saw or set there: someone else changed it.
func (r *run) event(e *entry, c resource.Change, err error) Event {
	ev := Event{Property: c.Property, Is: c.Is, Should: c.Should, Diff: c.Diff, Status: Success, Message: cmp.Or(c.Done, c.Message)}
	ev.Corrective = r.corrective(e, c)
	if err != nil {
		ev.Status = Failure
		ev.Corrective = false
		change := fmt.Sprintf("change of %s from %s to %s failed", c.Property, orAbsent(c.Is), orAbsent(c.Should))
		ev.Message = cmp.Or(c.Failed, change) + ": " + text.Error(err)
	}
	return ev
}

// corrective reports whether a change is of a value that a run did not leave so.
func (r *run) corrective(e *entry, c resource.Change) bool {
	last, known := r.Store.Observed(e.thing)[c.Property]
	return known && !c.Sensitive && last != e.comparison.Observed[c.Property]
}

func (e *entry) batchItem() resource.BatchItem {
	return resource.BatchItem{Resource: e.Resource, Changes: e.situation.Changes, Note: e.note}
}

// note keeps what the provider adds to the report.
func (e *entry) note(text string) { e.told += text }

// tell gives what the provider told to the event that was added last.
func (e *entry) tell() {
	e.report.Events[len(e.report.Events)-1].Output, e.told = e.told, ""
}

// fail marks the resource and its events as failed.
func (e *entry) fail(err error) {
	e.report.State = Failed
	if e.report.Message == "" {
		e.report.Message = text.Error(err)
	}
}

// changed reports whether anything of it was changed.
func (e *entry) changed() bool {
	return slices.ContainsFunc(e.report.Events, func(ev Event) bool { return ev.Status == Success })
}

func (e *entry) failed() bool {
	if e.report.State == Failed {
		return true
	}
	for _, ev := range e.report.Events {
		if ev.Status == Failure {
			return true
		}
	}
	return false
}

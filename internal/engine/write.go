package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/text"
)

// write makes the changes of a group, in a batch where the provider can.
func (r *run) write(ctx context.Context, group []*entry) {
	r.findDuplicates(ctx, group)
	r.spareManaged(ctx, group)
	var batch, pretended []*entry
	for _, e := range group {
		r.precheckRead(ctx, e)
		switch decide.Decide(e.situation).Action {
		case decide.Apply:
			err := resource.Guarded(func() error { return r.prepareClaim(ctx, e) })
			switch {
			case err != nil:
				e.fail(err)
			case e.Resource.Abilities().BatchWrite && (e.Resource.Traits().BatchAll || e.situation.Changes[0].Property == resource.Ensure):
				batch = append(batch, e)
			default:
				r.writeOne(ctx, e)
			}
		case decide.ReportNoop:
			pretended = append(pretended, e)
		default: // nothing to write
		}
	}
	r.reportNoop(ctx, pretended)
	r.writeTogether(ctx, batch)
}

func (r *run) writeOne(ctx context.Context, e *entry) {
	group := []*entry{e}
	r.writeAll(group, func() []error {
		if e.ended != nil {
			return []error{e.ended.Err}
		}
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
	r.writeAll(batch, func() []error { return bound.WriteAll(ctx, r.call().Writer(r.busyHost(batch...)), items) })
	r.verify(ctx, batch)
}

// writeAll writes, and turns changes and errors into events. It records refreshes and claims on disk
// before the host changes, so that no crash loses one.
func (r *run) writeAll(group []*entry, write func() []error) {
	r.beforeWrite()
	errs := make([]error, len(group))
	err := r.saveClaims(group)
	if err == nil {
		err = r.armRefreshes(group)
	}
	if err == nil {
		errs = write()
	}
	for i, e := range group {
		if err != nil {
			errs[i] = err
		} else {
			r.recordWrite(e)
		}
		if errors.Is(errs[i], resource.ErrNotBegun) {
			e.situation.Stopped = r.interrupted()
			r.stopped = e.situation.Stopped
			continue
		}
		for _, c := range e.situation.Changes {
			e.report.Events = append(e.report.Events, r.event(e, c, errorOf(errs[i], c.Property)))
		}
		e.attachNotes()
	}
}

// errorOf returns the error of a write for one property: its own PropertyError, if the error
// consists only of PropertyErrors; otherwise the whole error.
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

// A sideEffect is a write or a refresh with side effects.
type sideEffect struct {
	at int // the writes up to it
	of *entry
}

// recordWrite records that a resource was changed or refreshed.
func (r *run) recordWrite(e *entry) {
	e.writtenAt = r.writes
	if e.Resource.Traits().SideEffects {
		r.effects = append(r.effects, sideEffect{r.writes, e})
	}
}

// verify reads the changed resources again, which decides what was changed. A resource that is still out of sync fails.
func (r *run) verify(ctx context.Context, group []*entry) {
	written := slices.DeleteFunc(slices.Clone(group), func(e *entry) bool { return e.Resource.Traits().Imperative || !e.changed() })
	read := r.readTogether
	if len(written) > 1 {
		read = r.readAllOf
	}
	for i, err := range read(ctx, written) {
		e := written[i]
		if err != nil {
			e.disbelieve(fmt.Errorf("cannot verify the change: %w", err))
			continue
		}
		r.compareState(e)
		r.settle(e)
		if !e.failed() && len(e.comparison.Changes) > 0 { // otherwise in part: what was changed is remembered
			e.fail(errors.New(ineffective(e.comparison.Changes)))
		}
	}
}

// event returns the event for a change.
func (r *run) event(e *entry, c resource.Change, err error) report.Event {
	ev := report.Event{Property: c.Property, Is: c.Is, Should: c.Should, Diff: c.Diff, Status: report.Success, Message: cmp.Or(c.Done, c.Message)}
	ev.Corrective = r.corrective(e, c)
	if err != nil {
		ev.Status = report.Failure
		change := fmt.Sprintf("change of %s from %s to %s failed", c.Property, brief(c.Is), brief(c.Should))
		ev.Message = cmp.Or(c.Failed, change) + ": " + text.Error(err)
	}
	return ev
}

// brief shortens a value for the message of a failure: the reason comes after the values, and a status has little room.
func brief(value string) string {
	const most = 40
	return text.Clip(cmp.Or(value, resource.Absent), most)
}

// corrective reports whether a change is one of drift, corrected or not: the value differs from the one that a run last
// saw or set.
func (r *run) corrective(e *entry, c resource.Change) bool {
	last, known := r.Store.Observed(e.thing)[c.Property]
	if !known {
		return r.appeared(e, c)
	}
	return !c.Sensitive && last != e.comparison.Observed[c.Property]
}

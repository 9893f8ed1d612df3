package engine

import (
	"maps"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// finish ends a resource and releases what comes after it.
func (r *run) finish(e *entry) {
	e.done = true
	e.writtenAt = max(e.writtenAt, r.writtenBefore(e))
	r.conclude(e)
	r.remember(e)
	e.reported = len(r.reports)
	r.emit(e.report)
	r.queue.Done(e.node)
}

// conclude gives the resource its state and passes its events on.
func (r *run) conclude(e *entry) {
	e.report.State = e.state()
	e.blocksDependents = e.blocksDependents || e.report.State == report.Failed
	if e.report.State == report.Failed && e.report.Message == "" {
		e.report.Message = firstFailure(e.report.Events)
	}
	if !e.began.IsZero() {
		e.report.Duration = report.Duration(r.Now().Sub(e.began))
	}
	e.setLevels()
	r.notifyDependents(e)
}

// forgets reports whether nothing is remembered of a resource: the whole run only
// looks at what would be.
func (r *run) remembersNothing(e *entry) bool { return r.Noop && e.situation.Noop }

// remember saves what later runs tell drift from, and strikes off a refresh that is
// not due any more: it stays due when the resource did not get to it, or when it only
// reports because the whole run does.
func (r *run) remember(e *entry) {
	if r.remembersNothing(e) {
		return
	}
	if e.Deletes != nil {
		r.dropClaim(e)
		return
	}
	r.recordAudit(e)
	r.recordLook(e)
	r.refreshClaim(e)
	left := e.report.State == report.Failed || e.report.State == report.Skipped
	if (!left || e.situation.Events.Real == 0) && e.refreshDue {
		// A lost strike-off costs one needless refresh, and no run.
		_ = r.Store.Disarm([]resource.Ref{e.thing, resource.UnboundThing(e.Ref)})
	}
	if !e.compared {
		return
	}
	old := r.Store.Observed(e.thing)
	if values := valuesToRemember(e.comparison, old); !maps.Equal(old, values) {
		r.Store.SetObserved(e.thing, values)
	}
}

// remembered is what to tell drift from after a comparison: the values that are as they
// should be, and of those that are not, because they could not be changed or were only
// reported, what was remembered before. So it is still drift when it is corrected, and
// what was not yet done of a new intention never is.
func valuesToRemember(c resource.Comparison, old map[string]string) map[string]string {
	if len(c.Changes) == 0 {
		return c.Observed
	}
	values := maps.Clone(c.Observed)
	if c.Changes[0].Property == resource.Ensure { // the others were not looked at
		maps.Copy(values, old)
	}
	for _, change := range c.Changes {
		if last, known := old[change.Property]; known {
			values[change.Property] = last
		}
	}
	return values
}

// check remembers when a resource that has a schedule was looked at.
func (r *run) recordLook(e *entry) {
	if e.Schedule != nil && e.compared {
		r.Store.SetChecked(e.thing, e.began)
	}
}

// record keeps what was read last of the audited properties.
func (r *run) recordAudit(e *entry) {
	if !e.Audit || !e.compared {
		return
	}
	values := map[string]string{}
	for _, v := range e.Resource.Audited(r.Store.Key()) {
		values[v.Property] = v.Value
	}
	if !maps.Equal(values, r.Store.Audited(e.thing)) {
		r.Store.SetAudited(e.thing, values)
	}
}

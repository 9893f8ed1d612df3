package engine

import (
	"maps"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// finish ends a resource and releases its dependents.
func (r *run) finish(e *entry) {
	e.done = true
	e.writtenAt = max(e.writtenAt, r.writtenBefore(e))
	r.conclude(e)
	r.remember(e)
	e.reported = len(r.reports)
	r.emit(e.report)
	r.queue.Done(e.node)
}

// conclude sets the state of a resource and notifies its dependents.
func (r *run) conclude(e *entry) {
	e.report.State = e.state()
	r.noteUnknownBefore(e)
	e.blocksDependents = e.blocksDependents || e.report.State == report.Failed
	if e.report.State == report.Failed && e.report.Message == "" {
		e.report.Message = firstFailure(e.report.Events)
	}
	r.reportUntried(e)
	e.report.Differs = e.differs()
	if !e.began.IsZero() {
		e.report.Duration = report.Duration(r.Now().Sub(e.began))
	}
	e.report.Left = e.report.Left || r.isPartial() && e.situation.Unselected
	e.setLevels()
	r.notifyDependents(e)
}

// reportUntried adds the differences that a resource is known to have although nothing was tried to correct them, because
// it cannot be changed, or something that it depends on failed.
func (r *run) reportUntried(e *entry) {
	if e.tried() || e.situation.Stopped != nil || e.report.State != report.Failed && e.report.State != report.Skipped {
		return
	}
	for _, c := range e.comparison.Changes {
		ev := r.event(e, c, nil)
		ev.Status, ev.Message = report.Failure, e.report.Message
		e.report.Events = append(e.report.Events, ev)
	}
}

// remembersNothing reports whether nothing is remembered of a resource, because the whole run is in
// noop.
func (r *run) remembersNothing(e *entry) bool { return r.Noop && e.situation.Noop }

// remember saves what later runs need to detect drift, and clears a pending refresh. The refresh
// stays pending if the resource failed, was skipped, or only reports because the whole run is in
// noop.
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
	left := e.report.State == report.Failed || e.report.State == report.Skipped && !e.waits
	if (!left || e.situation.Events.Real == 0) && e.refreshDue {
		// Failing to disarm costs one needless refresh, which is better than a failed run.
		_ = r.Store.Disarm(r.armedNames(e))
	}
	if !e.compared {
		return
	}
	old := r.Store.Observed(e.thing)
	if values := r.withCompleteness(e, valuesToRemember(e.comparison, old), old); !maps.Equal(old, values) {
		r.Store.SetObserved(e.thing, values)
	}
}

// valuesToRemember returns the observed values to detect drift from. A value that is out of sync,
// because it could not be changed or was only reported, keeps what was remembered before: a later
// correction of drift still counts as one, and a later change of intention does not.
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

// completeFor is where the digest of the catalog is remembered with which all that a resource generates was in sync. It is no
// name of a property.
const completeFor = "complete for"

// withCompleteness adds that to the values to remember.
func (r *run) withCompleteness(e *entry, values, old map[string]string) map[string]string {
	is := old[completeFor]
	if e.complete && r.Digest != "" {
		is = r.Digest
	}
	if is == "" || values[completeFor] == is {
		return values
	}
	values = maps.Clone(values)
	if values == nil {
		values = map[string]string{}
	}
	values[completeFor] = is
	return values
}

// appeared reports whether a generated resource removes something that appeared by itself: nothing was left to remove when the
// same catalog was applied before. In Puppet, no purge is corrective.
func (r *run) appeared(e *entry, c resource.Change) bool {
	return e.generator != nil && c.Removes() && r.Digest != "" && r.Store.Observed(e.generator.thing)[completeFor] == r.Digest
}

// recordLook remembers when a resource with a schedule was looked at.
func (r *run) recordLook(e *entry) {
	if e.Schedule != nil && e.compared {
		r.Store.SetChecked(e.thing, e.began)
	}
}

// recordAudit remembers the values of audited properties.
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

package engine

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// records are what a run remembers of objects for later runs: the values to detect drift from, audits, and when a resource with a
// schedule was checked.
type records struct {
	store  Store
	digest string // of the catalog
}

// adopt takes over what is remembered of an object under the name that an earlier version gave it.
func (r *records) adopt(object, former resource.Ref) {
	if r.store.Observed(object) != nil {
		return
	}
	if values := r.store.Observed(former); values != nil {
		r.store.SetObserved(object, values)
	}
	if values := r.store.Audited(former); values != nil {
		r.store.SetAudited(object, values)
	}
	if at := r.store.Checked(former); !at.IsZero() {
		r.store.SetChecked(object, at)
	}
}

// isKnown reports whether something is remembered of an object: an earlier run has managed it.
func (r *records) isKnown(object resource.Ref) bool { return r.store.Observed(object) != nil }

// remember saves what later runs need to detect drift.
func (r *records) remember(t *turn) {
	if !t.compared {
		return
	}
	if t.Audit {
		r.rememberAudit(t)
	}
	if t.Schedule != nil {
		r.store.SetChecked(t.object, t.began)
	}
	old := r.store.Observed(t.object)
	if values := valuesToRemember(t.comparison, old); !maps.Equal(old, values) {
		r.store.SetObserved(t.object, values)
	}
	if t.complete && r.digest != "" {
		r.store.SetCompleted(t.object, r.digest)
	}
}

func (r *records) rememberAudit(t *turn) {
	values := map[string]string{}
	for _, v := range t.Resource.Audited(r.store.Key()) {
		values[v.Property] = v.Value
	}
	if !maps.Equal(values, r.store.Audited(t.object)) {
		r.store.SetAudited(t.object, values)
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

// event returns the event for a change.
func (r *records) event(of *turn, c resource.Change, err error) report.Event {
	ev := report.Event{Property: c.Property, Is: c.Is, Should: c.Should, Diff: c.Diff, Status: report.Success, Message: cmp.Or(c.Done, c.Message)}
	ev.Corrective = r.corrective(of, c)
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
func (r *records) corrective(t *turn, c resource.Change) bool {
	last, known := r.store.Observed(t.object)[c.Property]
	if !known {
		return r.appeared(t, c)
	}
	return !c.Sensitive && last != c.Is
}

// appeared reports whether a generated resource removes something that appeared by itself: nothing was left to remove when the
// same catalog was applied before. In Puppet, no purge is corrective.
func (r *records) appeared(t *turn, c resource.Change) bool {
	return t.isGenerated() && c.Removes() && r.digest != "" && r.store.Completed(t.parent.object) == r.digest
}

// lastChecked returns when a resource with a schedule was last checked; zero for never. Periods don't apply to deletions.
func (r *records) lastChecked(n *node) time.Time {
	if n.Deletes != nil {
		return time.Time{}
	}
	return r.store.Checked(n.object)
}

// retain forgets the objects that no resource manages after a run of the whole catalog. Where the object of a resource is
// unknown, all of its kind are retained.
func (r *records) retain(nodes []*node, t *traversal, withheld []resource.Withheld) {
	managed, unresolved := make(map[resource.Ref]bool, len(nodes)), map[string]bool{}
	for _, object := range t.generation.remembered {
		managed[object] = true
	}
	for _, n := range nodes {
		if n.Resource == nil || !n.Resource.IsNamed() {
			unresolved[n.Ref.Kind] = true
		}
		if !t.turns[n.index].deleted {
			managed[n.object] = true
		}
	}
	for _, w := range withheld {
		unresolved[w.Ref.Kind] = true
	}
	r.store.Retain(func(object resource.Ref) bool { return unresolved[object.Kind] || managed[object] })
}

// commit saves the records.
func (r *records) commit() error {
	if err := r.store.Commit(); err != nil {
		return fmt.Errorf("cannot save the state of the run: %w", err)
	}
	return nil
}

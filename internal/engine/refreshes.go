package engine

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/audit"
	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A dueRefresh is what a resource is to be refreshed for.
type dueRefresh struct {
	events  decide.Events // that it has received, and that had no effect yet
	earlier int           // the real ones of earlier runs
	stored  bool          // on disk, too, so that no crash loses it
}

// refreshes pass events on to the resources that they refresh, and store those that are due until they are made.
type refreshes struct {
	store Store
	order order
	names *names
}

// load receives the events of earlier runs.
func (r *refreshes) load() {
	stored := r.store.Armed()
	if len(stored) == 0 {
		return
	}
	for _, n := range r.order.nodes {
		for _, object := range r.names.all(n) {
			r.receive(n, stored[object])
		}
	}
}

// receive counts events of earlier runs.
func (r *refreshes) receive(n *node, events int) {
	n.refresh.events.Real += events
	n.refresh.earlier += events
	n.refresh.stored = n.refresh.stored || events > 0
}

// arm stores which refreshes become due by changing some resources, before that happens.
func (r *refreshes) arm(group ...*turn) error {
	var due []resource.Ref
	for _, t := range group {
		for to := range r.order.notified(t.node) {
			to.refresh.stored = true
			due = append(due, to.object)
		}
		if t.refreshesItself() {
			t.refresh.stored = true
			due = append(due, t.object)
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := r.store.Arm(due); err != nil {
		return fmt.Errorf("cannot note on disk what this change must refresh: %w", err)
	}
	return nil
}

// notify passes the events of a turn on. If the run remembers nothing of it, the next one finds its audits again.
func (r *refreshes) notify(t *turn, forgotten bool) {
	for to := range r.order.notified(t.node) {
		count(&to.refresh.events, t.result.events, t.situation.Changes)
		countAudits(&to.refresh.events, t.result.events, forgotten)
	}
}

// done is called when a resource had its turn. A refresh that could not be made stays due.
func (r *refreshes) done(t *turn, remembered bool) {
	left := t.result.state == report.Failed || t.result.state == report.Skipped && !t.waits
	if !left {
		t.refresh.events, t.refresh.earlier = decide.Events{}, 0
	}
	if remembered && t.refresh.stored && (!left || t.situation.Events.Real == 0) {
		// Failing to disarm costs one needless refresh, which is better than a failed run.
		_ = r.store.Disarm(r.names.all(t.node))
		t.refresh.stored = false
	}
}

// job identifies a refresh by the stored events.
func (r *refreshes) job(n *node) host.Job {
	job := host.Job{Owner: n.object.String(), Refresh: true}
	if n.Resource.Abilities().Resume {
		stored := r.store.Armed()
		job.Events = stored[n.object] + stored[resource.UnboundObject(n.Ref)]
	}
	return job
}

// count counts changes that were made, would be, or may be.
func count(n *decide.Events, events []report.Event, changes []resource.Change) {
	for _, ev := range events {
		unknown := func(c resource.Change) bool { return c.Property == ev.Property && c.Unknown != "" }
		switch {
		case ev.Status == report.Success:
			n.Real++
		case ev.Status == report.Pending && slices.ContainsFunc(changes, unknown):
			n.Unknown++
		case ev.Status == report.Pending:
			n.Noop++
		}
	}
}

// countAudits counts the changes that audits found.
func countAudits(n *decide.Events, events []report.Event, forgotten bool) {
	for _, ev := range events {
		switch {
		case !audit.IsChange(ev):
		case forgotten:
			n.Noop++
		default:
			n.Real++
		}
	}
}

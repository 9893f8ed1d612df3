package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// A turn is the way of one resource through the phases of a traversal: it is admitted, read, changed and verified, refreshed, and
// generates others; then it is concluded. The comments name the phases that set the fields.
type turn struct {
	*node
	situation decide.Situation // admit; observe adds what was read, settle corrects the changes
	carried   bool             // admit: its schedule excludes it, and an earlier run has checked it
	ended     *resource.Ended  // resume: what an earlier process began; nil if it began nothing

	comparison resource.Comparison // observe and verify: of the state that was read last with the desired one
	compared   bool                // observe: the state was read
	outOfSync  bool                // observe, settle

	claiming *claiming // write: nil if nothing is claimed
	forecast prediction

	complete bool // generate: all that it generates is in sync
	waits    bool // generate: it leaves out removals because of withheld resources, and has done all else

	result result // what all phases report
	notes  string // what the provider told since the last event
	began  time.Time

	done    bool // conclude: it has its report
	blocks  bool // conclude: what comes after it is skipped
	deleted bool // conclude: it has removed what left the catalog
	place   int  // conclude: of its report
}

// A result is what the phases of a turn have found and done.
type result struct {
	state   report.State // "" is what the events say
	message string
	unknown string // why only an apply can tell the outcome; the first reason counts
	events  []report.Event
}

// add adds events.
func (r *result) add(events ...report.Event) { r.events = append(r.events, events...) }

// fail records a failure. The first reason counts.
func (r *result) fail(err error) {
	r.state = report.Failed
	if r.message == "" {
		r.message = text.Error(err)
	}
}

// failed reports whether anything has failed.
func (r *result) failed() bool { return r.state == report.Failed || r.has(report.Failure) }

func (r *result) has(status report.EventStatus) bool {
	return slices.ContainsFunc(r.events, func(ev report.Event) bool { return ev.Status == status })
}

// stateOfEvents derives the state of a resource.
func (r *result) stateOfEvents() report.State {
	if r.state != "" {
		return r.state
	}
	s := report.InSync
	for _, ev := range r.events {
		switch {
		case ev.Status == report.Failure:
			return report.Failed
		case ev.Status == report.Audit: // says how it is, not what was done
		case ev.Status == report.Pending && s == report.InSync:
			s = report.Noop
		case ev.Status == report.Pending: // of a refresh, after a change
		case ev.Property != "":
			s = report.Changed
		case s == report.InSync:
			s = report.Refreshed
		}
	}
	return s
}

// firstFailure returns the message of the first event that failed.
func (r *result) firstFailure() string {
	for _, ev := range r.events {
		if ev.Status == report.Failure {
			return ev.Message
		}
	}
	return ""
}

// tried reports whether there are events about changes of properties.
func (r *result) tried() bool {
	return slices.ContainsFunc(r.events, func(ev report.Event) bool { return ev.Property != "" && ev.Status != report.Audit })
}

// setLevels sets the level of events to that of their resource, and the level of failures to error.
func (r *result) setLevels(level resource.LogLevel) {
	for i := range r.events {
		ev := &r.events[i]
		if ev.Level = level; ev.Status == report.Failure && r.state != report.Skipped {
			ev.Level = resource.LevelErr
		}
	}
}

// changed reports whether any change of the resource succeeded.
func (t *turn) changed() bool { return t.result.has(report.Success) }

// isRefused reports whether the resource is neither read nor changed.
func (t *turn) isRefused() bool { return decide.Refusal(t.situation).Action != decide.Continue }

// canBatch reports whether a resource can be written in a batch.
func (t *turn) canBatch() bool { return !t.isRefused() && t.Resource.Abilities().BatchWrite }

// refreshesItself reports whether a resource's own changes refresh it, as its type declares. A
// removal never does.
func (t *turn) refreshesItself() bool {
	changes := t.situation.Changes
	return len(changes) > 0 && t.Resource.Traits().SelfRefresh && !changes[0].Removes()
}

// afterChanges returns the situation once the changes are handled.
func (t *turn) afterChanges() decide.Situation {
	s := t.situation
	s.ChangesDone = true
	for _, c := range s.Changes {
		s.Invalidated = s.Invalidated || c.InvalidatesRefresh
	}
	return s
}

// wasInSync reports whether a resource was in sync when it was read last.
func (t *turn) wasInSync() bool {
	s := t.result.state
	return t.compared && (t.waits || s == report.InSync || s == report.Changed || s == report.Refreshed)
}

// differs reports whether a resource is known to differ from its desired state now.
func (t *turn) differs() bool {
	switch t.result.state {
	case report.InSync, report.Changed, report.Refreshed:
		return false
	case report.Noop, report.Skipped, report.Failed:
	}
	unmade := slices.ContainsFunc(t.result.events, func(ev report.Event) bool {
		return ev.Property != "" && (ev.Status == report.Failure || ev.Status == report.Pending)
	})
	return len(t.comparison.Changes) > 0 && (unmade || !t.Resource.Traits().Imperative && t.reading.err == nil)
}

// note keeps a note of the provider for the report.
func (t *turn) note(text string) { t.notes += text }

// attachNotes moves the notes to the event that was added last.
func (t *turn) attachNotes() {
	t.result.events[len(t.result.events)-1].Output, t.notes = t.notes, ""
}

// attachRemainingNotes moves the notes to the last event or, if there is none, to the message.
func (t *turn) attachRemainingNotes() {
	switch n := len(t.result.events); {
	case t.notes == "":
		return
	case n > 0:
		t.result.events[n-1].Output += t.notes
	case t.result.message == "":
		t.result.message = strings.TrimRight(t.notes, "\n")
	}
	t.notes = ""
}

// batchItem returns the resource and its changes for a provider that writes many.
func (t *turn) batchItem() resource.BatchItem {
	return resource.BatchItem{Resource: t.Resource, Changes: t.situation.Changes, Note: t.note}
}

// report returns the report of a turn that has ended.
func (t *turn) report(now time.Time) report.ResourceReport {
	r := report.ResourceReport{
		Ref: report.Ref(t.Ref), Provider: t.choice.name, State: t.result.state, Message: t.result.message, Unknown: t.result.unknown,
		Events: t.result.events, Deleted: t.deleted, OutOfSync: t.outOfSync, Differs: t.differs(), Left: t.carried,
	}
	if !t.began.IsZero() {
		r.Duration = report.Duration(now.Sub(t.began))
	}
	return r
}

// withheld describes a resource that could not be bound.
func (n *node) withheld() resource.Withheld {
	w := resource.Withheld{Ref: n.Ref, Location: n.Location}
	if n.Invalid != nil {
		w.Why = text.Error(n.Invalid)
	}
	return w
}

// refsOf returns the references of some of the turns.
func refsOf(turns []*turn, which func(*turn) bool) []resource.Ref {
	var refs []resource.Ref
	for _, t := range turns {
		if t != nil && which(t) {
			refs = append(refs, t.Ref)
		}
	}
	return refs
}

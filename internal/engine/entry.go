package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/claim"
	"github.com/fettle-dev/fettle/internal/text"
)

// entry is one resource of the run.
type entry struct {
	resource.Item
	node             int
	thing            resource.Ref // see [resource.Item.Thing]: what is remembered, is by it
	situation        decide.Situation
	comparison       resource.Comparison
	generator        *entry // that generated it; nil for a resource of the catalog
	complete         bool   // all that it generates is in sync
	waits            bool   // leaves out removals because of withheld resources, and has done all else
	looked           bool   // asked for other resources of the catalog
	report           report.ResourceReport
	began            time.Time
	took             time.Duration   // to read it, or its share of reading many
	asked            int             // one more than the writes before a provider was last looked for; 0 before
	identity         string          // what its provider tells it apart by; "" if unknown
	reported         int             // the place of its report
	compared         bool            // its state was read and compared
	pending          bool            // would be changed, or may be once others are
	decidedOutside   bool            // only an apply can tell the outcome, whatever comes before; see [resource.UnknownError]
	doubts           []string        // why an apply may find another state
	unknownAfter     *entry          // such a resource that it comes after; nil if there is none
	readAt           int             // one more than the writes before it was read last; 0 before
	readErr          error           // of that
	readEarly        bool            // that was before the run, for its name
	writtenAt        int             // the writes up to its own last one, or that of what it comes after; 0 for none
	blocksDependents bool            // failed, or skipped because of a failure
	done             bool            // has its report
	refreshDue       bool            // a refresh of it is noted on disk
	armed            int             // events of earlier runs
	ended            *resource.Ended // what an earlier process began; nil if it began nothing
	claim            *claim.Claim
	former           map[string]json.RawMessage // what that restores, without the changes that are being made
	notes            string                     // what the provider told since the last event
}

// receive counts pending events of earlier runs.
func (e *entry) receive(events int) {
	e.situation.Events.Real += events
	e.armed += events
	e.refreshDue = e.refreshDue || events > 0
}

// afterChanges returns the situation once the changes are handled.
func (e *entry) afterChanges() decide.Situation {
	s := e.situation
	s.ChangesDone = true
	for _, c := range s.Changes {
		s.Invalidated = s.Invalidated || c.InvalidatesRefresh
	}
	return s
}

// setLevels sets the level of events to that of their resource, and the level of failures to error.
func (e *entry) setLevels() {
	for i := range e.report.Events {
		ev := &e.report.Events[i]
		if ev.Level = e.LogLevel; ev.Status == report.Failure && e.report.State != report.Skipped {
			ev.Level = resource.LevelErr
		}
	}
}

// state derives the state of a resource from its events.
func (e *entry) state() report.State {
	if e.report.State != "" {
		return e.report.State
	}
	s := report.InSync
	for _, ev := range e.report.Events {
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

func firstFailure(events []report.Event) string {
	for _, ev := range events {
		if ev.Status == report.Failure {
			return ev.Message
		}
	}
	return ""
}

// refreshesItself reports whether a resource's own changes refresh it, as its type declares. A
// removal never does.
func (e *entry) refreshesItself() bool {
	changes := e.situation.Changes
	return len(changes) > 0 && e.Resource.Traits().SelfRefresh && !changes[0].Removes()
}

// seenInSync reports whether a resource was in sync when it was read last.
func (e *entry) seenInSync() bool {
	return e.compared && (e.waits || e.report.State == report.InSync || e.report.State == report.Changed || e.report.State == report.Refreshed)
}

// tried reports whether there are events about changes of its properties.
func (e *entry) tried() bool {
	return slices.ContainsFunc(e.report.Events, func(ev report.Event) bool { return ev.Property != "" && ev.Status != report.Audit })
}

// differs reports whether a resource is known to differ from its desired state now.
func (e *entry) differs() bool {
	switch e.report.State {
	case report.InSync, report.Changed, report.Refreshed:
		return false
	case report.Noop, report.Skipped, report.Failed:
	}
	unmade := slices.ContainsFunc(e.report.Events, func(ev report.Event) bool {
		return ev.Property != "" && (ev.Status == report.Failure || ev.Status == report.Pending)
	})
	return len(e.comparison.Changes) > 0 && (unmade || !e.Resource.Traits().Imperative && e.readErr == nil)
}

// changed reports whether any change of the resource succeeded.
func (e *entry) changed() bool {
	return slices.ContainsFunc(e.report.Events, func(ev report.Event) bool { return ev.Status == report.Success })
}

func (e *entry) failed() bool {
	if e.report.State == report.Failed {
		return true
	}
	for _, ev := range e.report.Events {
		if ev.Status == report.Failure {
			return true
		}
	}
	return false
}

// fail marks the resource and its events as failed.
func (e *entry) fail(err error) {
	e.report.State = report.Failed
	if e.report.Message == "" {
		e.report.Message = text.Error(err)
	}
}

// noteUnknown records why only an apply can tell the outcome. The first reason counts.
func (e *entry) noteUnknown(reason string) {
	e.decidedOutside = true
	if e.report.Unknown == "" {
		e.report.Unknown = reason
	}
}

func (e *entry) batchItem() resource.BatchItem {
	return resource.BatchItem{Resource: e.Resource, Changes: e.situation.Changes, Note: e.addNote}
}

// addNote keeps a note of the provider for the report.
func (e *entry) addNote(text string) { e.notes += text }

// attachNotes moves the notes to the event that was added last.
func (e *entry) attachNotes() {
	e.report.Events[len(e.report.Events)-1].Output, e.notes = e.notes, ""
}

// attachRemainingNotes moves the notes to the last event or, if there is none, to the message.
func (e *entry) attachRemainingNotes() {
	switch n := len(e.report.Events); {
	case e.notes == "":
		return
	case n > 0:
		e.report.Events[n-1].Output += e.notes
	case e.report.Message == "":
		e.report.Message = strings.TrimRight(e.notes, "\n")
	}
	e.notes = ""
}

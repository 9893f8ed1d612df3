package engine

import (
	"fmt"
	"maps"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// audit reports what has changed of the audited properties since a run last saw them.
// Who is notified by the resource hears of it. What the run itself changes later is no
// news to it.
func (r *run) audit(e *entry) {
	if !e.Audit || e.situation.ReadError != nil {
		return
	}
	events := auditEvents(r.Store.Audited(e.thing), e.Resource.Audited(r.Store.Key()))
	e.report.Events = append(e.report.Events, events...)
	if heard(events) && !r.forgets(e) {
		if err := r.arm([]*entry{e}); err != nil {
			e.fail(err)
		}
	}
}

// auditEvents compares what was recorded with what is.
func auditEvents(recorded map[string]string, is []resource.AuditedValue) []Event {
	var events []Event
	for _, v := range is {
		last, known := recorded[v.Property]
		if known && last == v.Value {
			continue
		}
		ev := Event{Property: v.Property, Status: Audit, Is: shown(v, v.Value)}
		if !known {
			ev.Message = fmt.Sprintf("audit change: newly-recorded value of %s is %s", v.Property, orAbsent(ev.Is))
		} else {
			ev.Historical = orAbsent(shown(v, last))
			ev.Message = fmt.Sprintf("audit change: previously recorded value of %s %s has been changed to %s", v.Property, ev.Historical, orAbsent(ev.Is))
		}
		events = append(events, ev)
	}
	return events
}

// shown is a value as people may see it.
func shown(v resource.AuditedValue, value string) string {
	if v.Sensitive && value != "" {
		return redact.Mark
	}
	return value
}

// news reports whether an audit found a change, and not merely a first value.
func (e Event) news() bool { return e.Status == Audit && e.Historical != "" }

func heard(events []Event) bool {
	for _, ev := range events {
		if ev.news() {
			return true
		}
	}
	return false
}

// countAudits counts what audits found, which the next run finds again if this one
// forgets it.
func (n *Events) countAudits(events []Event, forgotten bool) {
	for _, ev := range events {
		switch {
		case !ev.news():
		case forgotten:
			n.Noop++
		default:
			n.Real++
		}
	}
}

// record keeps what was read last of the audited properties.
func (r *run) record(e *entry) {
	if !e.Audit || !e.looked {
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

// Package audit compares audited properties with what an earlier run recorded.
package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// Events returns an event for each value that is new or differs from the recorded one, by property.
func Events(recorded map[string]string, is []resource.AuditedValue) []report.Event {
	var events []report.Event
	for _, v := range is {
		last, known := recorded[v.Property]
		if known && last == v.Value {
			continue
		}
		ev := report.Event{Property: v.Property, Status: report.Audit, Is: shown(v, v.Value)}
		if !known {
			ev.Message = fmt.Sprintf("audit change: newly-recorded value of %s is %s", v.Property, cmp.Or(ev.Is, resource.Absent))
		} else {
			ev.Historical = cmp.Or(shown(v, last), resource.Absent)
			ev.Message = fmt.Sprintf("audit change: previously recorded value of %s %s has been changed to %s", v.Property, ev.Historical, cmp.Or(ev.Is, resource.Absent))
		}
		events = append(events, ev)
	}
	return events
}

// shown returns a value as people may see it.
func shown(v resource.AuditedValue, value string) string {
	if v.Sensitive && value != "" {
		return redact.Mark
	}
	return value
}

// IsChange reports whether an audit found a change rather than a first value.
func IsChange(e report.Event) bool { return e.Status == report.Audit && e.Historical != "" }

// FoundChange reports whether any of the events is a change.
func FoundChange(events []report.Event) bool {
	return slices.ContainsFunc(events, IsChange)
}

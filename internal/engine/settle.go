package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// A provider that returns no error has only said that it tried. What was changed is what differs between the states that were
// read before and after the write.

// settle makes the events of a write say what was changed.
func (t *traversal) settle(of *turn) {
	made := of.Resource.Made(of.situation.Changes)
	var events []report.Event
	for _, ev := range of.result.events {
		if ev, ok := settled(ev, made, of.comparison.Changes); ok {
			events = append(events, ev)
		} else {
			of.notes += ev.Output
		}
	}
	changes := slices.DeleteFunc(slices.Clone(of.situation.Changes), func(c resource.Change) bool { return !hasEvent(events, c.Property) })
	for _, c := range made {
		if !hasEvent(events, c.Property) {
			events, changes = append(events, t.records.event(of, c, nil)), append(changes, c)
		}
	}
	of.result.events, of.situation.Changes, of.outOfSync = events, changes, len(changes) > 0
	if len(changes) == 0 {
		t.ownership.revert(of.claiming)
	}
	of.attachRemainingNotes()
}

// settled returns an event by what the write made and what is still out of sync. It is not ok if nothing was changed.
func settled(ev report.Event, made, left []resource.Change) (_ report.Event, ok bool) {
	if ev.Status != report.Success || ev.Property == "" {
		return ev, true
	}
	if left = leftOf(left, ev.Property); len(left) > 0 {
		ev.Status, ev.Message = report.Failure, ineffective(left)
		return ev, true
	}
	for _, c := range made {
		if c.Property == ev.Property {
			ev.Should, ev.Diff, ev.Message = c.Should, c.Diff, cmp.Or(c.Done, c.Message)
			return ev, true
		}
	}
	return ev, false
}

// disbelieve makes failures of the changes that can't be verified.
func (r *result) disbelieve(err error) {
	for i := range r.events {
		if ev := &r.events[i]; ev.Status == report.Success && ev.Property != "" {
			ev.Status, ev.Message = report.Failure, text.Error(err)
		}
	}
}

// hasEvent reports whether events have one of a change, made or not, of a property.
func hasEvent(events []report.Event, property string) bool {
	return slices.ContainsFunc(events, func(ev report.Event) bool { return ev.Property == property && ev.Status != report.Audit })
}

// leftOf returns what is out of sync after the change of a property: that, or the whole resource.
func leftOf(changes []resource.Change, property string) []resource.Change {
	for i, c := range changes {
		if c.Property == property || c.Property == resource.Ensure && c.Unknown == "" {
			return changes[i : i+1]
		}
	}
	return nil
}

// ineffective is the error of a write after which properties are out of sync: the tool did not do what it reported.
func ineffective(left []resource.Change) string {
	return "the change did not take effect: " + outOfSync(left)
}

// outOfSync describes what is out of sync.
func outOfSync(changes []resource.Change) string {
	var left []string
	for _, c := range changes {
		if c.Unknown != "" {
			left = append(left, fmt.Sprintf("whether %s is in sync is unknown: %s", c.Property, c.Unknown))
		} else {
			left = append(left, fmt.Sprintf("%s is %s, should be %s", c.Property, cmp.Or(c.Is, resource.Absent), cmp.Or(c.Should, resource.Absent)))
		}
	}
	return strings.Join(left, "; ")
}

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// Above returns the report without the events of a level.
func (r ResourceReport) Above(level resource.LogLevel) ResourceReport {
	has := func(e Event) bool { return e.Level == level }
	if slices.ContainsFunc(r.Events, has) {
		r.Events = slices.DeleteFunc(slices.Clone(r.Events), has)
	}
	return r
}

// Lines returns the report of a resource for people: a line per event, then the failure, the reason
// for a skip or a note. A resource in sync usually has none. Lines are not escaped: use
// [text.Line].
func (r ResourceReport) Lines() []string {
	var lines []string
	told := false
	for i, e := range r.Events {
		if told && e.Message == r.Message { // one reason for several properties
			continue
		}
		told = told || e.Message == r.Message
		for line := range strings.Lines(e.Output) {
			lines = append(lines, fmt.Sprintf("%s: output: %s", r.Ref, strings.TrimRight(line, "\r\n")))
		}
		lines = append(lines, fmt.Sprintf("%s: %s%s", r.Ref, e.Message, r.suffix(i)))
	}
	if r.Author != nil {
		lines = append(lines, fmt.Sprintf("%s: author: %s", r.Ref, r.Author))
	}
	if r.Message != "" && !told {
		lines = append(lines, fmt.Sprintf("%s: %s", r.Ref, r.Message))
	}
	return lines
}

// suffix returns what follows the message of an event. The last one says why the outcome of the resource is unknown.
func (r ResourceReport) suffix(i int) string {
	e, s := r.Events[i], ""
	if e.Status == Pending {
		s += " (noop)"
	}
	if e.Corrective {
		s += " (corrective)"
	}
	if r.Unknown != "" && i == len(r.Events)-1 {
		s += " (unknown: " + r.Unknown + ")"
	}
	return s
}

// Summary describes the whole run in one line.
func (r Report) Summary() string {
	c, unknown := r.Counts, ""
	if c.Unknown > 0 {
		unknown = fmt.Sprintf(", %d unknown", c.Unknown)
	}
	return fmt.Sprintf("%s: %d in sync, %d changed, %d refreshed, %d noop, %d skipped, %d failed%s in %s",
		text.Count(c.Total, "resource"), c.InSync, c.Changed, c.Refreshed, c.Noop, c.Skipped, c.Failed, unknown, r.Duration)
}

package report

import (
	"maps"
	"slices"
	"time"
)

// Metrics are numbers about a run in addition to its [Counts].
type Metrics struct {
	// Time has the durations of resources by kind, with generated resources included in the time of
	// the resource that generated them; total is the whole run. Steps before the run have the names
	// of [Transaction.Before].
	Time map[string]Duration `json:"time"`
	// Events has the numbers of events by status.
	Events EventCounts `json:"events"`
	// Changes has the number of events that changed something.
	Changes Total `json:"changes"`
}

// A Total is a number without parts.
type Total struct {
	Total int `json:"total"`
}

// EventCounts counts events. Total is the sum of the others.
type EventCounts struct {
	Total   int `json:"total"`
	Success int `json:"success"`
	Failure int `json:"failure"`
	Noop    int `json:"noop"`
	Audit   int `json:"audit"`
}

// The names of the steps before a run.
const (
	FactGeneration  = "factGeneration"
	ConfigRetrieval = "configRetrieval"
)

// total is the name of the duration of a whole run.
const total = "total"

// measure sets the metrics of a report that is otherwise complete.
func (r *Report) measure(before map[string]time.Duration) {
	r.Metrics.Time = map[string]Duration{total: r.Duration}
	for name, d := range before {
		r.Metrics.Time[name] = Duration(d)
	}
	for _, res := range r.Resources {
		r.Metrics.Time[res.Ref.Kind] += res.Duration
		for _, e := range res.Events {
			r.Metrics.Events.add(e)
		}
	}
	r.Metrics.Changes.Total = r.Metrics.Events.Success
}

func (c *EventCounts) add(e Event) {
	c.Total++
	switch e.Status {
	case Success:
		c.Success++
	case Failure:
		c.Failure++
	case Pending:
		c.Noop++
	case Audit:
		c.Audit++
	}
}

// Brief returns the report without uneventful resources in sync, and without diffs, which may be long.
func (r Report) Brief() Report {
	r.Metrics.Time = maps.Clone(r.Metrics.Time)
	all := r.Resources
	r.Resources = []ResourceReport{}
	for _, res := range all {
		if quiet(res) {
			continue
		}
		events := make([]Event, 0, len(res.Events))
		for _, e := range res.Events {
			e.Diff = ""
			events = append(events, e)
		}
		res.Events = events
		r.Resources = append(r.Resources, res)
	}
	return r
}

// quiet reports whether there is nothing to report about a resource.
func quiet(res ResourceReport) bool {
	return res.State == InSync && len(res.Events) == 0 && res.Message == ""
}

// Quiet reports whether the run was uneventful: everything was in sync.
func (r Report) Quiet() bool {
	return r.Status == "unchanged" && r.Message == "" && !slices.ContainsFunc(r.Resources, func(res ResourceReport) bool { return !quiet(res) })
}

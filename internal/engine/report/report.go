// Package report describes what a run did, resource by resource.
package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// State is the result of a resource.
type State string

// The states, as in the API.
const (
	InSync    State = "InSync"
	Changed   State = "Changed"
	Refreshed State = "Refreshed"
	Noop      State = "Noop"
	Skipped   State = "Skipped"
	Failed    State = "Failed"
)

// EventStatus is the result of an event.
type EventStatus string

// The statuses of events.
const (
	Success EventStatus = "success"
	Failure EventStatus = "failure"
	Pending EventStatus = "noop"
	// Audit means that a property has another value than an earlier run observed. The run did not
	// change it.
	Audit EventStatus = "audit"
)

// The origin of a catalog, in Puppet's words.
const (
	CacheNotUsed   = "not_used"
	CacheOnFailure = "on_failure"
)

// A Report describes a run. Its JSON form is part of the API (`-o json`). It contains no secret:
// sensitive values are redacted when they are compared. Texts from the host are unchanged: escape
// them before showing them to people. In JSON, which must be UTF-8, they are encoded by
// [text.Encode].
type Report struct {
	Kind       string `json:"kind"`       // Report
	APIVersion string `json:"apiVersion"` // fettle.dev/v1alpha1
	Host       string `json:"host"`
	Status     string `json:"status"` // unchanged, changed or failed
	// Message is the reason why the run as a whole failed, if it is not that of a single resource.
	Message string `json:"message,omitempty"`
	Noop    bool   `json:"noop"`
	// Partial means that the run handled only resources that had drifted, and those after them: all others are missing.
	Partial          bool      `json:"partial,omitempty"`
	CorrectiveChange bool      `json:"correctiveChange"`
	Started          time.Time `json:"started"`
	Duration         Duration  `json:"duration"`
	// CatalogDigest is the digest of a node's entries, or of the manifests if they are applied
	// directly.
	CatalogDigest string `json:"catalogDigest"`
	// CachedCatalogStatus is on_failure if a cached catalog was used because a newer one could not
	// be retrieved, else not_used. "" if catalogs are never cached.
	CachedCatalogStatus string  `json:"cachedCatalogStatus,omitempty"`
	Counts              Counts  `json:"counts"`
	Metrics             Metrics `json:"metrics"`
	// Resources are in the order in which they ended. Generated resources that are in sync are only
	// counted.
	Resources []ResourceReport `json:"resources"`
}

// Counts counts resources. Total is the sum of the states. OutOfSync is the number of resources
// with a property that was out of sync: those that a run has corrected, too, unlike in the status of a
// NodeCatalog, which describes how things are after it. Unknown
// is the number of resources of which only an apply can tell the outcome.
type Counts struct {
	Total     int `json:"total"`
	InSync    int `json:"inSync"`
	Changed   int `json:"changed"`
	OutOfSync int `json:"outOfSync"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
	Noop      int `json:"noop"`
	Refreshed int `json:"refreshed"`
	Unknown   int `json:"unknown,omitempty"`
}

// A ResourceReport is the result of one resource.
type ResourceReport struct {
	Ref      Ref      `json:"ref"`
	Provider string   `json:"provider,omitempty"`
	State    State    `json:"state"`
	Duration Duration `json:"duration"`
	// Message is the reason of a failure or a skip, or a note about a resource without events;
	// usually "".
	Message string `json:"message"`
	// Unknown is why only an apply can tell the outcome, such as "runs a command"; "" if the report says it. Only resources in
	// noop have it. One in sync has it if it comes after another of which the outcome is unknown.
	Unknown string  `json:"unknown,omitempty"`
	Events  []Event `json:"events,omitempty"`
	// Deleted means that no resource manages the object any more, and that its deletion policy was
	// carried out.
	Deleted bool `json:"gone,omitempty"`
	// Author is the process that caused the drift; nil without drift, and if it is unknown.
	Author *host.Author `json:"author,omitempty"`
	// OutOfSync means that a property was out of sync when it was read.
	OutOfSync bool `json:"-"`
	// Differs means that a property is known to be out of sync after the run. The state is then Noop, Skipped
	// or Failed.
	Differs bool `json:"-"`
	// Left means that its schedule excluded it from this run after an earlier run had checked it: its state is that of the
	// earlier run.
	Left bool `json:"-"`
}

// Corrective reports whether any of its events is corrective.
func (r ResourceReport) Corrective() bool {
	for _, e := range r.Events {
		if e.Corrective {
			return true
		}
	}
	return false
}

// Corrected reports whether the run has corrected drift, even if that did not last until the resource was verified.
func (r ResourceReport) Corrected() bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool { return e.Corrective && e.Status == Success })
}

func (r ResourceReport) has(s EventStatus) bool {
	for _, e := range r.Events {
		if e.Status == s {
			return true
		}
	}
	return false
}

// Audited reports whether an audit found anything.
func (r ResourceReport) Audited() bool {
	for _, e := range r.Events {
		if e.Status == Audit {
			return true
		}
	}
	return false
}

// An Event is one change, whether made or not, or a refresh.
type Event struct {
	Property string `json:"property,omitempty"` // "" for a refresh
	Is       string `json:"is,omitempty"`
	Should   string `json:"should,omitempty"`
	// Historical is the value of an audited property that an earlier run recorded, "" the first
	// time.
	Historical string      `json:"historical,omitempty"`
	Status     EventStatus `json:"status"`
	// Level is the severity; "" means notice.
	Level resource.LogLevel `json:"level,omitempty"`
	// Corrective means drift: the value was changed outside Fettle since a run last observed it. The
	// status says whether that was corrected.
	Corrective bool   `json:"corrective"`
	Message    string `json:"message"`
	Diff       string `json:"diff,omitempty"`
	// Output is additional output of the provider, such as that of a command.
	Output string `json:"output,omitempty"`
}

// Ref is a reference that encodes as Kind/name.
type Ref resource.Ref

// String returns Kind/name.
func (r Ref) String() string { return resource.Ref(r).String() }

// MarshalText returns Kind/name, encoded by [text.Encode].
func (r Ref) MarshalText() ([]byte, error) { return []byte(text.Encode(r.String())), nil }

// UnmarshalText parses Kind/name.
func (r *Ref) UnmarshalText(encoded []byte) error {
	ref, err := resource.ParseRef(text.Decode(string(encoded)))
	*r = Ref(ref)
	return err
}

// Duration encodes in seconds, such as "0.021s".
type Duration time.Duration

// String returns the seconds, truncated to milliseconds. Rounding up could make the longest
// duration unparsable.
func (d Duration) String() string {
	return fmt.Sprintf("%.3fs", time.Duration(d).Truncate(time.Millisecond).Seconds())
}

// MarshalJSON encodes seconds.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON parses any Go duration.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}

// Add counts a resource.
func (c *Counts) Add(r ResourceReport) {
	c.Total++
	if r.OutOfSync {
		c.OutOfSync++
	}
	if r.Unknown != "" {
		c.Unknown++
	}
	switch r.State {
	case InSync:
		c.InSync++
	case Changed:
		c.Changed++
	case Refreshed:
		c.Refreshed++
	case Noop:
		c.Noop++
	case Skipped:
		c.Skipped++
	case Failed:
		c.Failed++
	}
}

// Attribute adds the authors of drift.
func (r *Report) Attribute(author func(resource.Ref) *host.Author) {
	for i := range r.Resources {
		r.Resources[i].Attribute(author)
	}
}

// Attribute adds the author of drift.
func (r *ResourceReport) Attribute(author func(resource.Ref) *host.Author) {
	if r.Corrective() {
		r.Author = author(resource.Ref(r.Ref))
	}
}

// Changed returns the resources that the run changed or tried to change.
func (r Report) Changed() []resource.Ref {
	var refs []resource.Ref
	for _, res := range r.Resources {
		if res.State == Changed || res.State == Refreshed || res.State == Failed || res.has(Success) {
			refs = append(refs, resource.Ref(res.Ref))
		}
	}
	return refs
}

// Changes reports whether a resource has an event with this status, even if it is otherwise Failed or Skipped.
func (r Report) Changes(s EventStatus) bool {
	return slices.ContainsFunc(r.Resources, func(res ResourceReport) bool { return res.has(s) })
}

// Corrected returns the resources of which the run has corrected drift, even if that did not last until they were verified.
func (r Report) Corrected() []resource.Ref {
	var refs []resource.Ref
	for _, res := range r.Resources {
		if res.Corrected() {
			refs = append(refs, resource.Ref(res.Ref))
		}
	}
	return refs
}

// Fail marks the run as failed as a whole.
func (r *Report) Fail(message string) { r.Status, r.Message = "failed", message }

// Complete sets the status, the counts and the metrics from the resources. before has the durations
// of the steps before the run, by name.
func (r *Report) Complete(before map[string]time.Duration) {
	r.Status = "unchanged"
	for _, res := range r.Resources {
		r.Counts.Add(res)
		r.CorrectiveChange = r.CorrectiveChange || res.Corrected()
	}
	switch {
	case r.Counts.Failed > 0:
		r.Status = "failed"
	case r.Changes(Success):
		r.Status = "changed"
	}
	r.measure(before)
}

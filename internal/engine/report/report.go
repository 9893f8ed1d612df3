// Package report describes what a run did, resource by resource.
package report

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// State is how a resource ended.
type State string

// The states. They are those of the API.
const (
	InSync    State = "InSync"
	Changed   State = "Changed"
	Refreshed State = "Refreshed"
	Noop      State = "Noop"
	Skipped   State = "Skipped"
	Failed    State = "Failed"
)

// EventStatus is how an event ended.
type EventStatus string

// The statuses of events.
const (
	Success EventStatus = "success"
	Failure EventStatus = "failure"
	Pending EventStatus = "noop"
	// Audit says that a property was found to have another value than an earlier run
	// saw. Nothing was done about it.
	Audit EventStatus = "audit"
)

// How a catalog was come by, in Puppet's words.
const (
	CacheNotUsed   = "not_used"
	CacheOnFailure = "on_failure"
)

// A Report is what a run did. Its JSON form is part of the API (`-o json`). It holds
// no secret: sensitive values are redacted where they are compared. Its texts are as they
// were found on the host: escape them before people see them. In JSON, where all text is
// UTF-8, they are encoded by [text.Encode].
type Report struct {
	Kind       string `json:"kind"`       // Report
	APIVersion string `json:"apiVersion"` // fettle.dev/v1alpha1
	Host       string `json:"host"`
	Status     string `json:"status"` // unchanged, changed or failed
	// Message says why the run as a whole failed, where that is of no single resource.
	Message          string    `json:"message,omitempty"`
	Noop             bool      `json:"noop"`
	CorrectiveChange bool      `json:"correctiveChange"`
	Started          time.Time `json:"started"`
	Duration         Duration  `json:"duration"`
	// CatalogDigest is that of a node's entries, or of the manifests where those are applied
	// as they are.
	CatalogDigest string `json:"catalogDigest"`
	// CachedCatalogStatus says whether the catalog is one that was kept because there
	// was no asking for a newer one: not_used or on_failure. "" where none is ever kept.
	CachedCatalogStatus string  `json:"cachedCatalogStatus,omitempty"`
	Counts              Counts  `json:"counts"`
	Metrics             Metrics `json:"metrics"`
	// Resources are in the order in which they ended. Generated ones that are in sync
	// are counted alone.
	Resources []ResourceReport `json:"resources"`
}

// Counts counts resources. Total is the sum of the states; OutOfSync counts those
// with a property that was not as it should be.
type Counts struct {
	Total     int `json:"total"`
	InSync    int `json:"inSync"`
	Changed   int `json:"changed"`
	OutOfSync int `json:"outOfSync"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
	Noop      int `json:"noop"`
	Refreshed int `json:"refreshed"`
}

// A ResourceReport is how one resource fared.
type ResourceReport struct {
	Ref      Ref      `json:"ref"`
	Provider string   `json:"provider,omitempty"`
	State    State    `json:"state"`
	Duration Duration `json:"duration"`
	// Message is why it failed or was skipped, or what it has to say though nothing
	// happened; mostly "".
	Message string  `json:"message"`
	Events  []Event `json:"events,omitempty"`
	// Gone says that no resource is about it any more, and that what was to be done about
	// that was.
	Gone bool `json:"gone,omitempty"`
	// OutOfSync says that a property was not as it should be when it was read.
	OutOfSync bool `json:"-"`
	// Left says that its schedule kept it from being looked at, after an earlier run
	// had looked: it is as that one left it.
	Left bool `json:"-"`
}

// Corrective reports whether any of its events is.
func (r ResourceReport) Corrective() bool {
	for _, e := range r.Events {
		if e.Corrective {
			return true
		}
	}
	return false
}

// Audited reports whether an audit has something to tell.
func (r ResourceReport) Audited() bool {
	for _, e := range r.Events {
		if e.Status == Audit {
			return true
		}
	}
	return false
}

// An Event is one change, made or not, or a refresh.
type Event struct {
	Property string `json:"property,omitempty"` // "" for a refresh
	Is       string `json:"is,omitempty"`
	Should   string `json:"should,omitempty"`
	// Historical is what an earlier run recorded of an audited property, "" the first
	// time.
	Historical string      `json:"historical,omitempty"`
	Status     EventStatus `json:"status"`
	// Level is how much of a matter it is; "" is notice.
	Level resource.LogLevel `json:"level,omitempty"`
	// Corrective says that the value was changed behind Fettle's back since a run
	// last saw it: drift, not intention.
	Corrective bool   `json:"corrective"`
	Message    string `json:"message"`
	Diff       string `json:"diff,omitempty"`
	// Output is what the provider has to say beside, such as a command's output.
	Output string `json:"output,omitempty"`
}

// Ref is a reference that encodes as Kind/name.
type Ref resource.Ref

// String is Kind/name.
func (r Ref) String() string { return resource.Ref(r).String() }

// MarshalText writes Kind/name, encoded by [text.Encode].
func (r Ref) MarshalText() ([]byte, error) { return []byte(text.Encode(r.String())), nil }

// UnmarshalText reads Kind/name.
func (r *Ref) UnmarshalText(encoded []byte) error {
	ref, err := resource.ParseRef(text.Decode(string(encoded)))
	*r = Ref(ref)
	return err
}

// Duration encodes in seconds, as "0.021s".
type Duration time.Duration

// String is in seconds, in full milliseconds: rounded up, the longest would be none.
func (d Duration) String() string {
	return fmt.Sprintf("%.3fs", time.Duration(d).Truncate(time.Millisecond).Seconds())
}

// MarshalJSON writes seconds.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads any duration that Go can.
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

// Changed names the resources that the run changed, or tried to.
func (r Report) Changed() []resource.Ref {
	var refs []resource.Ref
	for _, res := range r.Resources {
		if res.State == Changed || res.State == Refreshed || res.State == Failed {
			refs = append(refs, resource.Ref(res.Ref))
		}
	}
	return refs
}

// Fail makes it the report of a run that failed as a whole.
func (r *Report) Fail(message string) { r.Status, r.Message = "failed", message }

// Complete fills in the status, the counts and the metrics from the resources. before is how long
// the steps before the run took, by name.
func (r *Report) Complete(before map[string]time.Duration) {
	r.Status = "unchanged"
	for _, res := range r.Resources {
		r.Counts.Add(res)
		r.CorrectiveChange = r.CorrectiveChange || res.State == Changed && res.Corrective()
	}
	switch {
	case r.Counts.Failed > 0:
		r.Status = "failed"
	case r.Counts.Changed+r.Counts.Refreshed > 0:
		r.Status = "changed"
	}
	r.measure(before)
}

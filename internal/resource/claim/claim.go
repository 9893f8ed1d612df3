// Package claim describes what a host has to do once no resource manages a thing any more.
package claim

import (
	"encoding/json"
	"maps"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// A Claim is what a host is to do once no resource is about a thing any more. It holds no
// secret.
type Claim struct {
	Kind    string `json:"kind"`
	Namevar string `json:"namevar"`
	// OwnerUID identifies the object whose catalog had the thing managed. A catalog of another owner
	// does not delete it by leaving it out.
	OwnerUID string `json:"ownerUID"`
	// Ref is the resource that was last about the thing, and After are those, with claims of
	// their own, that it came after.
	Ref   resource.Ref   `json:"ref"`
	After []resource.Ref `json:"after,omitempty"`

	Deletion resource.Deletion `json:"deletion"`
	// Schedule is that of the resource. Its times of day and days hold for the end as well; its
	// period says how often to look, and no more.
	Schedule *schedule.Schedule `json:"schedule,omitempty"`
	Provider string             `json:"provider"`
	// Gone are the attributes that have it removed, and Former those, by name, that bring
	// back what was changed.
	Gone   json.RawMessage            `json:"gone"`
	Former map[string]json.RawMessage `json:"former,omitempty"`
}

// Key finds the claim on a thing: its kind and namevar.
func (c Claim) Key() resource.Ref { return resource.Ref{Kind: c.Kind, Name: c.Namevar} }

// Idle reports whether there is nothing to do: it is to stay, or what was to be restored was
// never changed.
func (c Claim) Idle() bool {
	return c.Deletion == resource.Orphan || c.Deletion == resource.Restore && len(c.Former) == 0
}

// Recall adds what further changes replace. What is known stays: it was there before.
func (c *Claim) Recall(former map[string]json.RawMessage) {
	if len(former) == 0 || c.made() {
		return
	}
	all := maps.Clone(former)
	maps.Copy(all, c.Former)
	c.Former = all
}

// made reports whether there was nothing before.
func (c Claim) made() bool {
	var ensure string
	return json.Unmarshal(c.Former[resource.Ensure], &ensure) == nil && resource.IsAbsence(ensure)
}

// Attributes are those that do what the claim says; see [resource.Kind].Leave.
func (c Claim) Attributes() (json.RawMessage, error) {
	if c.Deletion != resource.Restore {
		return c.Gone, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(c.Gone, &all); err != nil {
		return nil, err
	}
	delete(all, resource.Ensure)
	maps.Copy(all, c.Former)
	return json.Marshal(all)
}

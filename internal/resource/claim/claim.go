// Package claim describes the pending deletion of a thing once no resource manages it any more.
package claim

import (
	"encoding/json"
	"maps"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// A Claim records how a host removes or restores a thing once no resource manages it any more. It
// contains no secret.
type Claim struct {
	Kind    string `json:"kind"`
	Namevar string `json:"namevar"` // the canonical name
	// OwnerUID identifies the object whose catalog made the host manage the thing. A catalog of
	// another owner does not delete the thing by omitting it.
	OwnerUID string `json:"ownerUID"`
	// Ref is the resource that managed the thing last. After lists its dependencies that have
	// claims of their own.
	Ref   resource.Ref   `json:"ref"`
	After []resource.Ref `json:"after,omitempty"`

	Deletion resource.Deletion `json:"deletion"`
	// Schedule is the schedule of the resource. Its ranges and weekdays also apply to the deletion;
	// its period does not.
	Schedule *schedule.Schedule `json:"schedule,omitempty"`
	Provider string             `json:"provider"`
	// Gone has the attributes that remove the thing. Former has the attributes, by name, that
	// restore its former state.
	Gone   json.RawMessage            `json:"gone"`
	Former map[string]json.RawMessage `json:"former,omitempty"`
}

// Key identifies the claimed thing by its kind and namevar.
func (c Claim) Key() resource.Ref { return resource.Ref{Kind: c.Kind, Name: c.Namevar} }

// Idle reports whether there is nothing to do: the policy is Orphan, or it is Restore and nothing
// was changed.
func (c Claim) Idle() bool {
	return c.Deletion == resource.Orphan || c.Deletion == resource.Restore && len(c.Former) == 0
}

// Recall adds the attributes that further changes replace. Recorded attributes keep their values,
// which are older.
func (c *Claim) Recall(former map[string]json.RawMessage) {
	if len(former) == 0 || c.made() {
		return
	}
	all := maps.Clone(former)
	maps.Copy(all, c.Former)
	c.Former = all
}

// made reports whether the thing did not exist before.
func (c Claim) made() bool {
	var ensure string
	return json.Unmarshal(c.Former[resource.Ensure], &ensure) == nil && resource.IsAbsence(ensure)
}

// Attributes returns the attributes that carry out the claim; see [resource.Kind].Leave.
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

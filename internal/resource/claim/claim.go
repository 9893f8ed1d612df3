// Package claim describes how an object is deleted once no resource manages it any more.
package claim

import (
	"encoding/json"
	"maps"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// A Claim records how a host deletes or restores an object once no resource manages it any more. It
// contains no secret.
type Claim struct {
	Kind    string `json:"kind"`
	Namevar string `json:"namevar"` // the canonical name
	// OwnerUID identifies the object whose catalog made the host manage the object in question. A catalog of
	// another owner does not delete that by omitting it.
	OwnerUID string `json:"ownerUID"`
	// Ref is the resource that managed the object last. After lists its dependencies that have
	// claims of their own.
	Ref   resource.Ref   `json:"ref"`
	After []resource.Ref `json:"after,omitempty"`

	Deletion resource.DeletionPolicy `json:"deletion"`
	// Schedule is the schedule of the resource. Its ranges and weekdays also apply to the deletion;
	// its period does not.
	Schedule *schedule.Schedule `json:"schedule,omitempty"`
	Provider string             `json:"provider"`
	// Delete has the attributes that delete the object. Restore has the attributes, by name, that
	// restore its original state.
	Delete  json.RawMessage            `json:"gone"`
	Restore map[string]json.RawMessage `json:"former,omitempty"`
}

// Key identifies the claimed object by its kind and namevar.
func (c Claim) Key() resource.Ref { return resource.Ref{Kind: c.Kind, Name: c.Namevar} }

// Idle reports whether there is nothing to do: the policy is Orphan, or it is Restore and nothing
// was changed.
func (c Claim) Idle() bool {
	return c.Deletion == resource.Orphan || c.Deletion == resource.Restore && len(c.Restore) == 0
}

// AddRestore adds the attributes that restore what further changes replace. Recorded attributes keep their values,
// which are older.
func (c *Claim) AddRestore(attributes map[string]json.RawMessage) {
	if len(attributes) == 0 || c.isCreated() {
		return
	}
	all := maps.Clone(attributes)
	maps.Copy(all, c.Restore)
	c.Restore = all
}

// isCreated reports whether the object did not exist before.
func (c Claim) isCreated() bool {
	var ensure string
	return json.Unmarshal(c.Restore[resource.Ensure], &ensure) == nil && resource.IsAbsence(ensure)
}

// Attributes returns the attributes that carry out the claim; see [resource.Kind].BindDeletion.
func (c Claim) Attributes() (json.RawMessage, error) {
	if c.Deletion != resource.Restore {
		return c.Delete, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(c.Delete, &all); err != nil {
		return nil, err
	}
	delete(all, resource.Ensure)
	maps.Copy(all, c.Restore)
	return json.Marshal(all)
}

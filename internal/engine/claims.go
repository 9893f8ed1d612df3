package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// ownership keeps the claims on the objects that a run changes, so that a later run can remove or restore those that leave the
// catalog.
type ownership struct {
	store   Store
	uid     string // of the owner of the catalog; "" claims nothing
	order   order
	records *records
}

// A claiming is the claim on an object that is about to be changed.
type claiming struct {
	claim.Claim
	before map[string]json.RawMessage // what it restored before these changes
}

// applies reports whether the claim on a resource's object has to be kept up to date. A resource
// in noop has changed nothing that would have to be undone.
func (o *ownership) applies(t *turn) bool {
	return o.uid != "" && t.Deletes == nil && t.compared && !t.noop
}

// prepare makes the claim on an object that is about to be changed, with the attributes that restore it; nil if it needs none.
func (o *ownership) prepare(ctx context.Context, t *turn, h resource.Writer) (*claiming, error) {
	if !o.applies(t) || t.Deletion == resource.Orphan {
		return nil, nil
	}
	c, err := o.claim(t)
	if err != nil {
		return nil, err
	}
	before := c.Restore
	if c.Deletion == resource.Restore {
		_, claimed := o.store.Claims()[c.Key()]
		attributes, err := t.Resource.RestoreAttributes(ctx, h, o.intended(t, claimed))
		if err != nil {
			return nil, err
		}
		c.AddRestore(attributes)
	}
	return &claiming{c, before}, nil
}

// claim returns the claim on a resource's object, with what it restores so far.
func (o *ownership) claim(t *turn) (claim.Claim, error) {
	attributes, err := t.Resource.DeleteAttributes()
	if err != nil {
		return claim.Claim{}, err
	}
	c := claim.Claim{
		Kind: t.Ref.Kind, Namevar: t.object.Name, OwnerUID: o.uid, Ref: t.Ref, Deletion: t.Deletion,
		Schedule: t.Schedule, Provider: t.choice.name, Delete: attributes,
	}
	for before := range o.order.before(t.node) {
		if before.Deletion != resource.Orphan {
			c.After = append(c.After, before.Ref)
		}
	}
	slices.SortFunc(c.After, resource.Ref.Compare)
	c.Restore = o.store.Claims()[c.Key()].Restore
	return c, nil
}

// intended returns the changes of the original state. Once there is a claim, those that
// correct drift are not among them.
func (o *ownership) intended(t *turn, claimed bool) []resource.Change {
	if !claimed {
		return t.situation.Changes
	}
	return slices.DeleteFunc(slices.Clone(t.situation.Changes), func(c resource.Change) bool { return o.records.corrective(t, c) })
}

// save stores the claims of a group on disk, before the host changes.
func (o *ownership) save(group []*turn) error {
	var claims []claim.Claim
	for _, t := range group {
		if t.claiming != nil && !reflect.DeepEqual(t.claiming.Claim, o.store.Claims()[t.claiming.Key()]) {
			claims = append(claims, t.claiming.Claim)
		}
	}
	if len(claims) == 0 {
		return nil
	}
	if err := o.store.Claim(claims); err != nil {
		return fmt.Errorf("cannot note on disk what was there before: %w", err)
	}
	return nil
}

// revert makes the claim on an object of which nothing was changed after all restore what it did before.
func (o *ownership) revert(c *claiming) {
	if c != nil {
		c.Restore = c.before
		o.store.SetClaim(c.Claim)
	}
}

// update updates the claim on an object after its resource was handled.
func (o *ownership) update(t *turn) {
	if !o.applies(t) {
		return
	}
	was, had := o.store.Claims()[t.object]
	if t.Deletion == resource.Orphan {
		if had {
			o.store.DropClaim(t.object)
		}
		return
	}
	if c, err := o.claim(t); err == nil && !(had && reflect.DeepEqual(c, was)) {
		o.store.SetClaim(c)
	}
}

// dropGenerated drops the claim on a generated object: it now belongs to the resource that generated it.
func (o *ownership) dropGenerated(t *turn) {
	if _, had := o.store.Claims()[t.object]; had && o.applies(t) {
		o.store.DropClaim(t.object)
	}
}

// isTakenOver reports whether another resource took over the object that a node deletes.
func (o *ownership) isTakenOver(n *node) bool {
	if n.Deletes == nil {
		return false
	}
	_, still := o.store.Claims()[*n.Deletes]
	return !still
}

// pass adds to the claim on a resource's object what another claim on it restores.
func (o *ownership) pass(from resource.Ref, owner *node) {
	if c, ok := o.store.Claims()[owner.object]; ok {
		c.AddRestore(o.store.Claims()[from].Restore)
		o.store.SetClaim(c)
	}
}

// settle drops the claim that a deletion has carried out. It reports whether it has.
func (o *ownership) settle(t *turn) (done bool) {
	if t.result.state != report.InSync && t.result.state != report.Changed {
		return false
	}
	o.store.DropClaim(*t.Deletes)
	return true
}

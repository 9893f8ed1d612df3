package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// needsClaim reports whether the claim on a resource's thing has to be kept up to date. A resource
// in noop has changed nothing that would have to be undone.
func (r *run) needsClaim(e *entry) bool {
	return r.OwnerUID != "" && e.Deletes == nil && e.compared && !e.situation.Noop
}

// prepareClaim makes the claim on a thing that is about to be changed, with its former state.
func (r *run) prepareClaim(ctx context.Context, e *entry) error {
	if !r.needsClaim(e) || e.Deletion == resource.Orphan {
		return nil
	}
	c, err := r.newClaim(e)
	if err != nil {
		return err
	}
	if c.Deletion == resource.Restore {
		_, claimed := r.Store.Claims()[c.Key()]
		e.former = c.Former
		former, err := e.Resource.Former(ctx, r.writer(e), r.intendedChanges(e, claimed))
		if err != nil {
			return err
		}
		c.Recall(former)
	}
	e.claim = &c
	return nil
}

// saveClaims saves the claims of a group to disk.
func (r *run) saveClaims(group []*entry) error {
	var claims []claim.Claim
	for _, e := range group {
		if e.claim != nil && !reflect.DeepEqual(*e.claim, r.Store.Claims()[e.claim.Key()]) {
			claims = append(claims, *e.claim)
		}
	}
	if len(claims) == 0 {
		return nil
	}
	if err := r.Store.Claim(claims); err != nil {
		return fmt.Errorf("cannot note on disk what was there before: %w", err)
	}
	return nil
}

// unclaim makes the claim on a thing of which nothing was changed after all restore what it did before.
func (r *run) unclaim(e *entry) {
	if e.claim != nil {
		e.claim.Former = e.former
		r.Store.SetClaim(*e.claim)
	}
}

// newClaim returns the claim on a resource's thing, with the former values that are known.
func (r *run) newClaim(e *entry) (claim.Claim, error) {
	gone, err := e.Resource.Gone()
	if err != nil {
		return claim.Claim{}, err
	}
	c := claim.Claim{
		Kind: e.Ref.Kind, Namevar: e.thing.Name, OwnerUID: r.OwnerUID, Ref: e.Ref, Deletion: e.Deletion,
		Schedule: e.Schedule, Provider: e.report.Provider, Gone: gone,
	}
	for _, n := range r.plan.Before[e.node] {
		if r.entries[n].Deletion != resource.Orphan {
			c.After = append(c.After, r.entries[n].Ref)
		}
	}
	slices.SortFunc(c.After, resource.Ref.Compare)
	c.Former = r.Store.Claims()[c.Key()].Former
	return c, nil
}

// intendedChanges returns the changes of the original state. Once there is a claim, those that
// correct drift are not among them.
func (r *run) intendedChanges(e *entry, claimed bool) []resource.Change {
	if !claimed {
		return e.situation.Changes
	}
	return slices.DeleteFunc(slices.Clone(e.situation.Changes), func(c resource.Change) bool { return r.corrective(e, c) })
}

// refreshClaim updates the claim on a thing after its resource was handled.
func (r *run) refreshClaim(e *entry) {
	if !r.needsClaim(e) {
		return
	}
	key := e.thing
	was, had := r.Store.Claims()[key]
	if e.Deletion == resource.Orphan {
		if had {
			r.Store.DropClaim(key)
		}
		return
	}
	if c, err := r.newClaim(e); err == nil && !(had && reflect.DeepEqual(c, was)) {
		r.Store.SetClaim(c)
	}
}

// takeOverClaim drops the claim on a generated thing: it now belongs to the resource that generated
// it.
func (r *run) takeOverClaim(child *entry) {
	key := child.thing
	if _, had := r.Store.Claims()[key]; had && r.needsClaim(child) {
		r.Store.DropClaim(key)
	}
}

// claimTakenOver reports whether another resource took over the thing that an item deletes.
func (r *run) claimTakenOver(e *entry) bool {
	if e.Deletes == nil {
		return false
	}
	_, still := r.Store.Claims()[*e.Deletes]
	return !still
}

// spareManaged removes nothing that left the catalog under one name, but is in it under another, such as a path through a symlink.
func (r *run) spareManaged(ctx context.Context, group []*entry) {
	for _, e := range group {
		if e.Deletes == nil {
			continue
		}
		if owner := r.inCatalog(ctx, e); owner != nil {
			e.situation.Changes, e.report.OutOfSync = nil, false
			r.recall(*e.Deletes, owner)
		}
	}
}

// recall adds to the claim on a resource's thing what another claim on it restores.
func (r *run) recall(from resource.Ref, owner *entry) {
	if c, ok := r.Store.Claims()[owner.thing]; ok && !r.remembersNothing(owner) {
		c.Recall(r.Store.Claims()[from].Former)
		r.Store.SetClaim(c)
	}
}

// dropClaim drops the claim that an item has carried out.
func (r *run) dropClaim(e *entry) {
	if e.report.State == report.InSync || e.report.State == report.Changed {
		e.report.Gone = true
		r.Store.DropClaim(*e.Deletes)
	}
}

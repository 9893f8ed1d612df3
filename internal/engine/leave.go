package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// heed has claims say what becomes of things as items say it now, whether these have a turn in
// this run or not: their schedule may keep them from it, or what they need. One that only
// reports has nothing become of its thing, and may mean it again later.
func (t Transaction) heed(items []resource.Item) {
	if t.Charter == "" {
		return
	}
	unbound := map[resource.Ref]resource.Item{}
	for _, item := range items {
		if item.Resource == nil {
			unbound[item.Ref] = item
		} else if c, ok := t.Store.Claims()[item.Thing()]; ok {
			t.amend(c, item)
		}
	}
	for _, c := range t.Store.Claims() {
		if item, ok := unbound[c.Ref]; ok {
			t.amend(c, item)
		}
	}
}

func (t Transaction) amend(c claim.Claim, item resource.Item) {
	is := item.Deletion
	if item.Noop != nil && *item.Noop {
		is = resource.Orphan
	}
	when := c.Schedule
	if item.Resource != nil { // else nothing may be known of its schedule
		when = item.Schedule
	}
	if c.Deletion != is || !reflect.DeepEqual(c.Schedule, when) {
		c.Deletion, c.Schedule = is, when
		t.Store.SetClaim(c)
	}
}

// leavers are items for the things that were claimed and that no item is about any more. They
// are to come last, among themselves in the reverse of the order that their resources had.
func (t Transaction) leavers(items []resource.Item) []resource.Item {
	claims := t.Store.Claims()
	if t.Charter == "" || len(claims) == 0 {
		return nil
	}
	known := t.census(items)
	var all []resource.Item
	var due []claim.Claim
	for _, key := range slices.Backward(slices.SortedFunc(maps.Keys(claims), resource.Ref.Compare)) {
		c := claims[key]
		switch {
		case known.about[key] || known.doubtful[c.Ref] || c.Charter != t.Charter:
		case c.Idle() && !t.Noop:
			t.Store.DropClaim(key)
		case !c.Idle():
			all, due = append(all, t.leaver(c, known)), append(due, c)
		}
	}
	reverse(all, due)
	return all
}

// A census is what the resources of a run are about, as far as that can be told.
type census struct {
	about    map[resource.Ref]bool   // things, by kind and namevar
	named    map[resource.Ref]bool   // resources
	doubtful map[resource.Ref]bool   // resources of which it is not known what they are about
	doubts   map[string]resource.Ref // one of these, by kind
}

func (t Transaction) census(items []resource.Item) census {
	c := census{map[resource.Ref]bool{}, map[resource.Ref]bool{}, map[resource.Ref]bool{}, map[string]resource.Ref{}}
	for _, item := range items {
		c.named[item.Ref] = true
		if item.Resource == nil {
			c.doubt(item.Ref)
		} else {
			c.about[item.Thing()] = true
		}
	}
	for _, ref := range t.unaccounted() {
		c.doubt(ref)
	}
	return c
}

// unaccounted are the host's resources that are not among the items.
func (t Transaction) unaccounted() []resource.Ref {
	all := slices.Clone(t.Withheld)
	for _, refused := range t.Refused {
		all = append(all, resource.Ref(refused.Ref))
	}
	return all
}

func (c census) doubt(ref resource.Ref) { c.doubtful[ref], c.doubts[ref.Kind] = true, ref }

// leaver is the item of a claim.
func (t Transaction) leaver(c claim.Claim, known census) resource.Item {
	item := resource.Item{Ref: c.Ref, Provider: c.Provider, Schedule: c.Schedule, Deletes: new(c.Key())}
	if known.named[c.Ref] { // the resource is about something else now
		item.Ref = resource.Ref{Kind: c.Kind, Name: c.Namevar}
	}
	if other, doubt := known.doubts[c.Kind]; doubt {
		item.Schedule = nil // it waits at any time
		item.Postponed = fmt.Errorf("its resource is gone, but %s may be about the same thing, which can't be told while that is withheld or invalid: mend it first", other)
	}
	kind, ok := kindOf(t.Kinds, c.Kind)
	if !ok {
		item.Invalid = fmt.Errorf("its resource is gone, and kind %q is not known to this version of Fettle", c.Kind)
		return item
	}
	attributes, err := c.Attributes()
	if err == nil {
		item.Resource, err = kind.Leave(item.Ref, attributes)
	}
	if err != nil {
		item.Resource, item.Invalid = nil, fmt.Errorf("cannot read the claim on %s %q: %w", c.Kind, c.Namevar, err)
	}
	return item
}

// reverse has leavers go before those that their resources came after. Claims that were noted
// at different times may contradict each other: then any order is as good.
func reverse(all []resource.Item, due []claim.Claim) {
	at := make(map[resource.Ref]int, len(all))
	for i, c := range due {
		at[c.Ref] = i
	}
	var edges []edge
	for i, c := range due {
		for _, ref := range c.After {
			if other, ok := at[ref]; ok && other != i {
				edges = append(edges, edge{from: i, to: other})
			}
		}
	}
	for _, e := range outsideKnots(edges, len(all), graphOf(len(all), edges).SCCs()) {
		all[e.from].Before = append(all[e.from].Before, all[e.to].Ref)
	}
}

// claims reports whether a resource has what its deletion policy says to be noted: one that
// only reports has not done anything that would have to be undone.
func (r *run) claims(e *entry) bool {
	return r.Charter != "" && e.Deletes == nil && e.looked && !e.situation.Noop
}

// stake makes the claim on what is about to be changed, which is kept as it was.
func (r *run) stake(ctx context.Context, e *entry) error {
	if !r.claims(e) || e.Deletion == resource.Orphan {
		return nil
	}
	c, err := r.claimOf(e)
	if err != nil {
		return err
	}
	if c.Deletion == resource.Restore {
		_, claimed := r.Store.Claims()[c.Key()]
		former, err := e.Resource.Former(ctx, r.writer(e), r.intended(e, claimed))
		if err != nil {
			return err
		}
		c.Recall(former)
	}
	e.claim = &c
	return nil
}

// noteClaims has the claims of a group on disk.
func (r *run) noteClaims(group []*entry) error {
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

// claimOf is the claim on a resource's thing, with what is known of former values.
func (r *run) claimOf(e *entry) (claim.Claim, error) {
	gone, err := e.Resource.Gone()
	if err != nil {
		return claim.Claim{}, err
	}
	c := claim.Claim{
		Kind: e.Ref.Kind, Namevar: e.Resource.Namevar(), Charter: r.Charter, Ref: e.Ref, Deletion: e.Deletion,
		Schedule: e.Schedule, Provider: e.report.Provider, Gone: gone,
	}
	for _, n := range r.plan.before[e.node] {
		if r.entries[n].Deletion != resource.Orphan {
			c.After = append(c.After, r.entries[n].Ref)
		}
	}
	slices.SortFunc(c.After, resource.Ref.Compare)
	c.Former = r.Store.Claims()[c.Key()].Former
	return c, nil
}

// intended are the changes of what was there before: those that undo drift are not, once
// there is a claim.
func (r *run) intended(e *entry, claimed bool) []resource.Change {
	if !claimed {
		return e.situation.Changes
	}
	return slices.DeleteFunc(slices.Clone(e.situation.Changes), func(c resource.Change) bool { return r.corrective(e, c) })
}

// reclaim brings the claim on a thing up to date once its resource is dealt with.
func (r *run) reclaim(e *entry) {
	if !r.claims(e) {
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
	if c, err := r.claimOf(e); err == nil && !(had && reflect.DeepEqual(c, was)) {
		r.Store.SetClaim(c)
	}
}

// inherit has a thing be the resource's own that brought it along: whose it was before has
// nothing become of it any more.
func (r *run) inherit(child *entry) {
	key := child.thing
	if _, had := r.Store.Claims()[key]; had && r.claims(child) {
		r.Store.DropClaim(key)
	}
}

// inherited reports whether someone else took over what leaves.
func (r *run) inherited(e *entry) bool {
	if e.Deletes == nil {
		return false
	}
	_, still := r.Store.Claims()[*e.Deletes]
	return !still
}

// disclaim forgets the claim on what was dealt with as it says.
func (r *run) disclaim(e *entry) {
	if e.report.State == InSync || e.report.State == Changed {
		e.report.Gone = true
		r.Store.DropClaim(*e.Deletes)
	}
}

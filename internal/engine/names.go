package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// Things are known by their canonical names. Of some types, only a provider on the host knows these, and tells them with
// the state that it reads. A run reads such resources first, before it looks for duplicates, relations, what is remembered of a thing,
// and what to remove. While the name of a resource is unknown, nothing of its kind is purged or removed.

// readings are the errors of resources that were read before the run, nil for those that could be read.
type readings map[resource.Resource]error

// readNames reads the relevant ones of the items whose canonical names only their providers know, each kind and provider at once. One
// without a suitable provider is left to its turn. A partial run reads only what no run before has named.
func (t Transaction) readNames(ctx context.Context, items []resource.Item, relevant func(resource.Item) bool, into readings) {
	toRead := func(i resource.Item) bool {
		return i.Resource != nil && i.Resource.Traits().CanonicalNames && relevant(i) && !(t.isPartial() && i.Resource.IsNamed())
	}
	if !slices.ContainsFunc(items, toRead) {
		return
	}
	sendStates(plan.New(items), items)
	h := resource.Call{Bucket: t.Bucket, Trace: t.Trace != nil}.Reader(t.hosts.all)
	for _, group := range t.withProviders(items, toRead) {
		for i, err := range readTogether(ctx, h, group) {
			into[group[i]] = err
		}
	}
}

// withProviders chooses providers for some items. It returns those that have one, by kind and provider.
func (t Transaction) withProviders(items []resource.Item, of func(resource.Item) bool) [][]resource.Resource {
	var groups [][]resource.Resource
	at := map[providerKey]int{}
	for _, item := range items {
		if !of(item) || resource.Guarded(func() error { return item.Resource.Choose(t.Facts, t.hosts.all, item.Provider) }) != nil {
			continue
		}
		key := providerKey{item.Ref.Kind, item.Resource.Provider()}
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], item.Resource)
	}
	return groups
}

// readTogether reads resources of one kind and provider. The errors are parallel to them.
func readTogether(ctx context.Context, h resource.Reader, group []resource.Resource) []error {
	if group[0].Abilities().BatchRead {
		return bound.ReadAll(ctx, h, group)
	}
	return resource.Together(len(group), 1, func(i int) error { return group[i].Read(ctx, h) })
}

// sendStates sends resources the desired states of others that they ask for.
func sendStates(p *plan.Plan, items []resource.Item) {
	for n, related := range p.States(items) {
		items[n].Resource.Receive(related)
	}
}

// isRelevant reports whether the name of an item matters before the run: whether it is of a kind that the run handles or has claims
// on.
func (t Transaction) isRelevant(items []resource.Item) func(resource.Item) bool {
	kinds := map[string]bool{}
	for _, item := range items {
		if t.includes(item) {
			kinds[item.Ref.Kind] = true
		}
	}
	if !t.isPartial() {
		for key := range t.Store.Claims() {
			kinds[key.Kind] = true
		}
	}
	return func(item resource.Item) bool { return kinds[item.Ref.Kind] }
}

// own registers a resource as the one that manages its thing. Several that manage one thing fail, all of them, before any is
// changed: nobody knows which one is meant.
func (r *run) own(e *entry) {
	if e.Resource == nil || e.Deletes != nil || e.generator != nil || !e.Resource.IsNamed() {
		return
	}
	if thing := e.Thing(); thing != e.thing { // its name has just become known
		e.thing = thing
		r.plan.Keys[plan.Key(thing)] = e.node
		e.receive(r.Store.Armed()[thing])
	}
	switch owner := r.owners[e.thing]; owner {
	case e:
	case nil:
		r.owners[e.thing] = e
		r.adoptRecords(e)
	default:
		r.failDuplicate(e, sameNameError(e, owner))
		r.failDuplicate(owner, sameNameError(owner, e))
	}
}

func sameNameError(e, other *entry) error {
	return fmt.Errorf("%q is on this host the same as %q of %s, canonically %q: keep one of the two resources, or let their nodeSelector or when exclude each other",
		e.Resource.Namevar(), other.Resource.Namevar(), other.Ref, e.thing.Name)
}

// formerly returns the thing as earlier versions stored it, if that differs and is no other thing of the catalog.
func (r *run) formerly(e *entry) (thing resource.Ref, ok bool) {
	if e.Resource == nil {
		return thing, false
	}
	thing = resource.Ref{Kind: e.Ref.Kind, Name: e.Resource.FormerName()}
	if thing == e.thing {
		return thing, false
	}
	n, taken := r.plan.Keys[plan.Key(thing)]
	return thing, !taken || n == e.node
}

// adoptRecords takes over what is remembered of a thing under the name that an earlier version gave it.
func (r *run) adoptRecords(e *entry) {
	former, ok := r.formerly(e)
	if !ok || r.Store.Observed(e.thing) != nil {
		return
	}
	if values := r.Store.Observed(former); values != nil {
		r.Store.SetObserved(e.thing, values)
	}
	if values := r.Store.Audited(former); values != nil {
		r.Store.SetAudited(e.thing, values)
	}
	if at := r.Store.Checked(former); !at.IsZero() {
		r.Store.SetChecked(e.thing, at)
	}
}

// armedNames returns the things under which a refresh of a resource may be pending: its own, that of a resource of which nothing
// was known, and those of one whose canonical name was not known.
func (r *run) armedNames(e *entry) []resource.Ref {
	things := []resource.Ref{e.thing}
	if e.Resource == nil {
		return things
	}
	things = append(things, resource.UnboundThing(e.Ref))
	if former, ok := r.formerly(e); ok {
		things = append(things, former)
	}
	if e.Resource.Traits().CanonicalNames {
		things = append(things, resource.Ref{Kind: e.Ref.Kind, Name: e.Resource.CanonicalOf(e.Resource.Namevar())})
	}
	return unique(things)
}

// errNotNamed is why a resource has no canonical name although it was read.
var errNotNamed = errors.New("its provider does not say")

// nameRest reads the resources of a kind whose canonical names are still unknown, unless nothing has changed since that failed. It
// returns one whose name remains unknown, and why.
func (r *run) nameRest(ctx context.Context, kind string) (resource.Ref, error) {
	rest := r.unnamed(kind)
	for _, e := range rest {
		if err := resource.Guarded(func() error { return r.chooseProvider(e) }); err != nil {
			return e.Ref, err
		}
	}
	for _, group := range byProvider(rest) {
		if group[0].readAt != r.writes+1 {
			r.readAllOf(ctx, group) // each keeps its own
		}
	}
	for _, e := range r.unnamed(kind) {
		return e.Ref, cmp.Or(e.readErr, errNotNamed)
	}
	return r.renamed(ctx, kind)
}

// renamed returns a resource of a kind to which its provider gives another name, although the type does not say that it may. It reads
// those of a program that had no turn yet. Those that cannot be read have their own names.
func (r *run) renamed(ctx context.Context, kind string) (resource.Ref, error) {
	all := r.entriesOf(kind, func(e *entry) bool { return e.Resource.Traits().Family != "" })
	rest := slices.DeleteFunc(slices.Clone(all), func(e *entry) bool {
		return e.compared || r.isFresh(e) || resource.Guarded(func() error { return r.chooseProvider(e) }) != nil
	})
	for _, group := range byProvider(rest) {
		r.readAllOf(ctx, group) // each keeps its own
	}
	for _, e := range all {
		if _, ok := errors.AsType[*resource.OtherNameError](e.readErr); ok {
			return e.Ref, e.readErr
		}
	}
	return resource.Ref{}, nil
}

// unnamed returns the resources of a kind whose canonical names are unknown.
func (r *run) unnamed(kind string) []*entry {
	return r.entriesOf(kind, func(e *entry) bool { return !e.Resource.IsNamed() })
}

// entriesOf returns some of the resources of a kind that the catalog manages.
func (r *run) entriesOf(kind string, some func(*entry) bool) []*entry {
	var all []*entry
	for _, e := range r.entries {
		if e.Ref.Kind == kind && e.Resource != nil && e.Deletes == nil && some(e) {
			all = append(all, e)
		}
	}
	return all
}

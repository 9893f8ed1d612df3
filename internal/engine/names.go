package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Objects on a host are known by their canonical names. Of some types, only a provider on the host knows these, and tells them with
// the state that it reads. A run reads such resources first, before it looks for duplicates, relations, what is remembered of an
// object, and what to remove. While the name of a resource is unknown, nothing of its kind is purged or removed.

// readings are the errors of resources that were read before the run, nil for those that could be read.
type readings map[resource.Resource]error

// readNames reads the relevant ones of the items whose canonical names only their providers know, each kind and provider at once. One
// without a suitable provider is left to its turn.
func (t Transaction) readNames(ctx context.Context, items []resource.Item, relevant func(resource.Item) bool, into readings) {
	toRead := func(i resource.Item) bool {
		return i.Resource != nil && i.Resource.Traits().CanonicalNames && relevant(i)
	}
	if !slices.ContainsFunc(items, toRead) {
		return
	}
	sendStates(t.Plans.of(items), items)
	h := resource.Call{Bucket: t.Bucket, Trace: t.Trace != nil}.Reader(t.hosts.all)
	for _, group := range t.withProviders(items, toRead) {
		for i, err := range readTogether(ctx, h, group) {
			into[group[i]] = err
		}
	}
}

// withProviders chooses providers for some items. It returns those that have one, by kind and provider.
func (t Transaction) withProviders(items []resource.Item, of func(resource.Item) bool) [][]resource.Resource {
	var chosen []resource.Resource
	for _, item := range items {
		if of(item) && resource.Guarded(func() error { return item.Resource.Choose(t.Facts, t.hosts.all, item.Provider) }) == nil {
			chosen = append(chosen, item.Resource)
		}
	}
	return groupByProvider(chosen, func(r resource.Resource) resource.Resource { return r })
}

// readTogether reads resources of one kind and provider. The errors are parallel to them.
func readTogether(ctx context.Context, h resource.Reader, group []resource.Resource) []error {
	if group[0].Abilities().BatchRead {
		return group[0].Provider().ReadAll(ctx, h, group)
	}
	return resource.Together(len(group), 1, func(i int) error { return group[i].Read(ctx, h) })
}

// sendStates sends resources the desired states of others that they ask for.
func sendStates(p *plan.Plan, items []resource.Item) {
	for n, related := range p.States(items) {
		items[n].Resource.Receive(related)
	}
}

// hasRelevantName reports whether the name of an item matters before the run: whether it is of a kind that the run handles or has
// claims on.
func (t Transaction) hasRelevantName(items []resource.Item) func(resource.Item) bool {
	kinds := map[string]bool{}
	for _, item := range items {
		if t.selects(item) {
			kinds[item.Ref.Kind] = true
		}
	}
	for key := range t.Store.Claims() {
		kinds[key.Kind] = true
	}
	return func(item resource.Item) bool { return kinds[item.Ref.Kind] }
}

// names know which resource of the catalog manages which object, by their canonical names and by the identities that
// providers give them.
type names struct {
	order      order
	told       map[plan.Key]int // nodes by the names that providers have told in this run: the plan is that of other runs, too
	owners     map[resource.Ref]*node
	identified map[plan.Key][]*node // by kind and identity
	// allIdentified is set once providers were asked about all resources.
	allIdentified bool
}

// named reports whether the object of a resource of the catalog is known, and has just become known.
func (n *names) named(of *node) (known, now bool) {
	if of.Resource == nil || of.Deletes != nil || of.isGenerated() || !of.Resource.IsNamed() {
		return false, false
	}
	object := of.Object()
	if object == of.object {
		return true, false
	}
	of.object = object
	n.told[plan.Key(object)] = of.index
	return true, true
}

// find returns the node of the catalog that has a name.
func (n *names) find(key plan.Key) (index int, ok bool) {
	if index, ok = n.told[key]; !ok {
		index, ok = n.order.Keys[key]
	}
	return index, ok
}

// of returns the names of the nodes of a kind.
func (n *names) of(kind string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range n.order.Keys {
			if k.Kind == kind && !yield(k.Name) {
				return
			}
		}
		for k := range n.told {
			if _, planned := n.order.Keys[k]; !planned && k.Kind == kind && !yield(k.Name) {
				return
			}
		}
	}
}

// own returns the resource that manages the object of another: the first that was asked about.
func (n *names) own(of *node) (owner *node, first bool) {
	owner = n.owners[of.object]
	if owner == nil {
		n.owners[of.object] = of
		return of, true
	}
	return owner, false
}

// formerly returns the object as earlier versions stored it, if that differs and is no other object of the catalog.
func (n *names) formerly(of *node) (object resource.Ref, ok bool) {
	if of.Resource == nil {
		return object, false
	}
	object = resource.Ref{Kind: of.Ref.Kind, Name: of.Resource.FormerName()}
	if object == of.object {
		return object, false
	}
	i, taken := n.find(plan.Key(object))
	return object, !taken || i == of.index
}

// all returns the objects under which a refresh of a resource may be pending: its own, that of a resource of which nothing
// was known, and those of one whose canonical name was not known.
func (n *names) all(of *node) []resource.Ref {
	all := []resource.Ref{of.object}
	add := func(object resource.Ref) {
		if !slices.Contains(all, object) {
			all = append(all, object)
		}
	}
	if of.Resource == nil {
		return all
	}
	add(resource.UnboundObject(of.Ref))
	if former, ok := n.formerly(of); ok {
		add(former)
	}
	if of.Resource.Traits().CanonicalNames {
		add(resource.Ref{Kind: of.Ref.Kind, Name: of.Resource.Kind().CanonicalName(of.Resource.Namevar())})
	}
	return all
}

// identify records what a provider tells a resource apart by. It returns the others that have the same.
func (n *names) identify(of *node, identity string) []*node {
	if of.identity = identity; identity == "" {
		return nil
	}
	same := plan.Key{Kind: of.Ref.Kind, Name: identity}
	others := n.identified[same]
	n.identified[same] = append(others, of)
	return others
}

// register registers a resource, and takes over what is remembered of its object once that is known. Several that manage one object
// fail, all of them, before any is changed: nobody knows which one is meant.
func (r *run) register(n *node) {
	known, now := r.names.named(n)
	if !known {
		return
	}
	if now {
		r.refreshes.receive(n, r.Store.Armed()[n.object])
	}
	owner, first := r.names.own(n)
	if first {
		if former, ok := r.names.formerly(n); ok {
			r.records.adopt(n.object, former)
		}
	}
	if owner != n {
		r.refuse(n, sameNameError(n, owner))
		r.refuse(owner, sameNameError(owner, n))
	}
}

func sameNameError(n, other *node) error {
	return fmt.Errorf("%q is on this host the same as %q of %s, canonically %q: keep one of the two resources, or let their nodeSelector or when exclude each other",
		n.Resource.Namevar(), other.Resource.Namevar(), other.Ref, n.object.Name)
}

// errNotNamed is why a resource has no canonical name although it was read.
var errNotNamed = errors.New("its provider does not say")

// nameRest reads the resources of a kind whose canonical names are still unknown, unless nothing has changed since that failed. It
// returns one whose name remains unknown, and why.
func (r *run) nameRest(ctx context.Context, kind string) (resource.Ref, error) {
	rest := r.unnamed(kind)
	for _, n := range rest {
		if err := r.providers.bind(n); err != nil {
			return n.Ref, err
		}
	}
	for _, group := range byProvider(rest) {
		if group[0].reading.in != r.epochs.now {
			r.reads.all(ctx, group) // each keeps its own error
		}
	}
	for _, n := range r.unnamed(kind) {
		return n.Ref, cmp.Or(n.reading.err, errNotNamed)
	}
	return r.renamed(ctx, kind)
}

// unnamed returns the resources of a kind whose canonical names are unknown.
func (r *run) unnamed(kind string) []*node {
	return r.order.ofKind(kind, func(n *node) bool { return !n.Resource.IsNamed() })
}

// renamed returns a resource of a kind to which its provider gives another name, although the type does not say that it may. It reads
// those of a program that had no turn yet. Those that cannot be read have their own names.
func (r *run) renamed(ctx context.Context, kind string) (resource.Ref, error) {
	all := r.order.ofKind(kind, func(n *node) bool { return n.Resource.Traits().Family != "" })
	rest := slices.DeleteFunc(slices.Clone(all), func(n *node) bool {
		return n.reading.in > 0 && n.reading.err == nil || r.reads.hold(n) || r.providers.bind(n) != nil
	})
	for _, group := range byProvider(rest) {
		r.reads.all(ctx, group) // each keeps its own error
	}
	for _, n := range all {
		if _, ok := errors.AsType[*resource.OtherNameError](n.reading.err); ok {
			return n.Ref, n.reading.err
		}
	}
	return resource.Ref{}, nil
}

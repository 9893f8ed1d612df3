package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
)

// findDuplicates fails resources that manage the same object under different names, before any of
// them is changed. It asks about all resources before the first change, and later only about those
// whose identity was unknown then, such as a file whose directory did not exist. A run that only corrects drift follows one
// that has told all resources apart, so it asks only about those that it changes.
func (r *run) findDuplicates(ctx context.Context, group []*turn) {
	if !slices.ContainsFunc(group, func(t *turn) bool { return len(t.situation.Changes) > 0 }) {
		return
	}
	if r.whole != nil && !r.names.allIdentified {
		r.identifyAll(ctx)
		return
	}
	var nodes []*node
	for _, t := range group {
		nodes = append(nodes, t.node)
	}
	r.identifyNew(ctx, nodes)
}

// identifyAll identifies all resources, once.
func (r *run) identifyAll(ctx context.Context) {
	if !r.names.allIdentified {
		r.names.allIdentified = true
		r.identifyNew(ctx, r.order.nodes)
	}
}

// identifyNew identifies those of some resources whose identity is unknown.
func (r *run) identifyNew(ctx context.Context, nodes []*node) {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return !r.canIdentify(n) })
	for _, group := range byProvider(nodes) {
		r.identify(ctx, group)
	}
}

// canIdentify reports whether a resource is to be identified. Generated resources are not: those of
// the catalog take precedence.
func (r *run) canIdentify(n *node) bool {
	if n.isGenerated() || n.identity != "" || n.Resource == nil || n.Deletes != nil || n.invalid != nil || len(r.order.Cycles[n.index]) > 0 {
		return false
	}
	if n.choice.in == 0 && r.providers.bind(n) != nil {
		return false
	}
	return n.choice.err == nil && n.Resource.Abilities().Identify
}

// identify identifies resources of one kind and provider, and fails those that share an identity.
func (r *run) identify(ctx context.Context, group []*node) {
	found, err := group[0].Resource.Provider().Identify(ctx, r.calls.sharedReader(), resourcesOf(group))
	for i, n := range group {
		if err != nil {
			r.refuse(n, fmt.Errorf("cannot tell it apart from others: %w", err))
			continue
		}
		for _, other := range r.names.identify(n, found[i]) {
			r.refuse(n, duplicateError(n, other))
			r.refuse(other, duplicateError(other, n))
		}
	}
}

func duplicateError(n, other *node) error {
	return fmt.Errorf("%q is on this host the same as %q of %s: keep one of the two resources, or let their nodeSelector or when exclude each other",
		n.Resource.Namevar(), other.Resource.Namevar(), other.Ref)
}

// inCatalog returns the resource of the catalog that manages the same object as one that is generated, or that removes what left the
// catalog, under another name such as a path through a symlink. It is nil if no resource does, or if nothing is to be changed. The one in
// the catalog takes precedence.
func (r *run) inCatalog(ctx context.Context, t *turn) *node {
	if len(t.situation.Changes) == 0 {
		return nil
	}
	if t.Resource.Traits().CanonicalNames { // which generators did not know
		return r.names.owners[t.Object()]
	}
	if !t.Resource.Abilities().Identify {
		return nil
	}
	r.identifyAll(ctx)
	found, err := t.Resource.Provider().Identify(ctx, r.calls.sharedReaderOf(r.calls.hostOf(t.node)), []resource.Resource{t.Resource})
	if err != nil || found[0] == "" {
		return nil
	}
	t.identity = found[0]
	if same := r.names.identified[plan.Key{Kind: t.Ref.Kind, Name: t.identity}]; len(same) > 0 {
		return same[0]
	}
	return nil
}

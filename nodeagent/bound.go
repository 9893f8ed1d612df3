package nodeagent

import (
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent/lease"
	"github.com/fettle-dev/fettle/providers/external"
)

// bound are the entries of a target, bound to their types: once for all runs, until the entries or the types change.
type bound struct {
	entries []v1alpha1.CatalogEntry
	types   []*definition.Definition
	kinds   []resource.Kind
	items   []resource.Item
}

// bind binds entries, unless that was done already. Entries that could not be bound are bound again: a key may be there by now.
func (b *bound) bind(entries []v1alpha1.CatalogEntry, types []*definition.Definition, r *runner) {
	same := func(a, b *definition.Definition) bool { return a.Spec.Kind == b.Spec.Kind && a.Digest == b.Digest }
	if b.items == nil || !isSame(b.entries, entries) || !slices.EqualFunc(b.types, types, same) {
		kinds := slices.Concat(r.kinds, external.Kinds(types, fenced{r.programs, r.fence, r.now}))
		*b = bound{entries, types, kinds, catalog.Items(entries, kinds, r.open)}
		return
	}
	for i, item := range b.items {
		if item.Invalid != nil {
			b.items[i] = catalog.Items(entries[i:i+1], b.kinds, r.open)[0]
		}
	}
}

// isSame reports whether two slices are the same one.
func isSame(a, b []v1alpha1.CatalogEntry) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// itemsFor returns the items for a task. Those of Remote types are postponed to a run in which the agent acts for them.
func (b *bound) itemsFor(t task) []resource.Item {
	if t.acts || !hasRemote(t.Types) {
		return b.items
	}
	items := slices.Clone(b.items)
	for i := range items {
		if slices.ContainsFunc(t.Types, func(d *definition.Definition) bool { return d.Spec.Kind == items[i].Ref.Kind && d.IsRemote() }) {
			items[i].Postponed = lease.ErrFenced
		}
	}
	return items
}

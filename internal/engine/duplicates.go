package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// identities are the resources of a run by the identities that their providers gave them.
type identities map[plan.Key][]*entry

// findDuplicates fails resources that manage the same thing under different names, before any of
// them is changed. It asks about all resources before the first change, and later only about those
// whose identity was unknown then, such as a file whose directory did not exist.
func (r *run) findDuplicates(ctx context.Context, group []*entry) {
	if !slices.ContainsFunc(group, func(e *entry) bool { return len(e.situation.Changes) > 0 }) {
		return
	}
	if r.identified == nil {
		r.identified = identities{}
		group = r.entries
	}
	type means struct{ kind, provider string }
	unknown := map[means][]*entry{}
	var order []means
	for _, e := range group {
		if !r.canIdentify(e) {
			continue
		}
		m := means{e.Ref.Kind, e.Resource.Provider()}
		if unknown[m] == nil {
			order = append(order, m)
		}
		unknown[m] = append(unknown[m], e)
	}
	for _, m := range order {
		r.identify(ctx, unknown[m])
	}
}

// canIdentify reports whether a resource is to be identified. Generated resources are not: those of
// the catalog take precedence.
func (r *run) canIdentify(e *entry) bool {
	if e != r.entries[e.node] || e.identity != "" || e.Resource == nil || e.Deletes != nil || e.situation.Invalid != nil || len(e.situation.Cycle) > 0 {
		return false
	}
	if e.asked == 0 && resource.Guarded(func() error { return r.chooseProvider(e) }) != nil { // it is asked again at its turn
		return false
	}
	return e.situation.NoProvider == nil && e.Resource.Abilities().Identify
}

// identify identifies resources of one kind and provider, and fails those that share an identity.
func (r *run) identify(ctx context.Context, group []*entry) {
	all := make([]resource.Resource, len(group))
	for i, e := range group {
		all[i] = e.Resource
	}
	found, err := bound.IdentifyAll(ctx, r.sharedReader(), all)
	for i, e := range group {
		if err != nil {
			r.failDuplicate(e, fmt.Errorf("cannot tell it apart from others: %w", err))
			continue
		}
		if e.identity = found[i]; e.identity == "" {
			continue
		}
		same := plan.Key{Kind: e.Ref.Kind, Name: e.identity}
		for _, other := range r.identified[same] {
			r.failDuplicate(e, duplicateError(e, other))
			r.failDuplicate(other, duplicateError(other, e))
		}
		r.identified[same] = append(r.identified[same], e)
	}
}

func duplicateError(e, other *entry) error {
	return fmt.Errorf("%q is on this host the same as %q of %s: keep one of the two resources, or let their nodeSelector or when exclude each other",
		e.Resource.Namevar(), other.Resource.Namevar(), other.Ref)
}

// failDuplicate fails a resource, even one that has ended.
func (r *run) failDuplicate(e *entry, err error) {
	switch {
	case e.situation.Invalid != nil: // by another resource, too
	case e.done:
		r.failLater(e, err)
	default:
		e.situation.Invalid = err
	}
}

package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// spareMissed notes which nodes would lose a resource that nobody has deleted: a cache that
// lacks it is incomplete, and what is missing there must go from no host. gone is what nodes
// have and caches do not.
func (r *Fleet) spareMissed(ctx context.Context, gone map[string][]v1alpha1.ResourceRef, unclear map[string]bool) error {
	there := map[string]map[string]bool{} // names by kind
	missed := map[string]bool{}
	var failed []error
	for node, refs := range gone {
		for _, ref := range refs {
			kind, name, _ := strings.Cut(string(ref), "/")
			if _, asked := there[kind]; !asked {
				var err error
				there[kind], err = r.existing(ctx, kind)
				failed = append(failed, err)
			}
			if there[kind] == nil || there[kind][name] {
				unclear[node] = true
				missed[string(ref)] = true
			}
		}
	}
	if err := errors.Join(failed...); err != nil || len(missed) == 0 {
		return err
	}
	names := slices.Sorted(maps.Keys(missed))
	return fmt.Errorf("the cache lacks %s, which nobody deleted: nodes keep what they have", listed(names[:min(len(names), namedNodes)], len(names)))
}

// existing are the names of a kind that the API server has and nobody deletes; nil with an
// error. Of a kind that is no more it has none.
func (r *Fleet) existing(ctx context.Context, kind string) (map[string]bool, error) {
	list, err := r.listLive(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("cannot list %s, of which a cache lacks some: %w", kind, err)
	}
	names := map[string]bool{}
	for i := range list.Items {
		if o := &list.Items[i]; o.DeletionTimestamp == nil {
			names[o.Name] = true
		}
	}
	return names, nil
}

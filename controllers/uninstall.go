package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// An uninstallation is under way while a CustomResourceDefinition of ours is being deleted,
// or is not there: all objects of its kind go with it, and nobody meant hosts to change. The
// zero value has not looked yet.
type uninstallation struct {
	unsure bool            // something vanished, and nobody has looked whether its kind did
	going  map[string]bool // kinds whose definition goes or is gone
	looked time.Time
}

// lookEvery is how often definitions are looked at while one goes, or a deletion waits:
// no event tells that.
const lookEvery = 10 * time.Second

// suspect notes that something vanished between two compilations; before is nil after a
// start, when nobody knows.
func (u *uninstallation) suspect(before, now *compilation) {
	if before == nil {
		u.unsure = true
		return
	}
	for ref := range before.resources {
		if _, stays := now.resources[ref]; !stays {
			u.unsure = true
			return
		}
	}
}

// due reports whether it is time to look again whether definitions are back.
func (u *uninstallation) due(now time.Time) bool {
	return len(u.going) > 0 && now.Sub(u.looked) >= lookEvery
}

// next is when that will be; 0 for never.
func (u *uninstallation) next() time.Duration {
	if len(u.going) == 0 {
		return 0
	}
	return lookEvery
}

// isUninstalled looks for definitions that go where something vanished. A fleet in which
// nothing does is not looked at.
func (r *Fleet) isUninstalled(ctx context.Context, nodes nodeCatalogs) (bool, error) {
	u := &r.uninstallation
	if r.published.misses(r.compiled, nodes) {
		u.unsure = true
	}
	if !u.unsure && !u.due(r.Clock.Now()) {
		return len(u.going) > 0, nil
	}
	kinds := []string{"NodeCatalog", "Catalog"}
	for _, o := range v1alpha1.Resources() {
		kinds = append(kinds, o.KindName())
	}
	if err := r.look(ctx, kinds); err != nil {
		return true, err
	}
	u.unsure = false
	return len(u.going) > 0, nil
}

// abandoned lets departures go whose kind does.
func (r *Fleet) abandoned(ctx context.Context, gone []departure) (time.Duration, error) {
	u := &r.uninstallation
	waiting := map[string]bool{}
	for _, d := range gone {
		if d.n > 0 {
			waiting[d.resource.KindName()] = true
		}
	}
	if len(waiting) == 0 {
		return 0, nil
	}
	if r.Clock.Now().Sub(u.looked) >= lookEvery {
		if err := r.look(ctx, slices.Sorted(maps.Keys(waiting))); err != nil {
			return 0, err
		}
	}
	for i, d := range gone {
		if u.going[d.resource.KindName()] {
			gone[i].awaited = awaited{}
		}
	}
	return lookEvery, nil
}

// look finds out which of some kinds go.
func (r *Fleet) look(ctx context.Context, kinds []string) error {
	going := make([]bool, len(kinds))
	errs := each(len(kinds), func(i int) (err error) {
		going[i], err = r.goes(ctx, kinds[i])
		return err
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	u := &r.uninstallation
	before := len(u.going)
	if u.going == nil {
		u.going = map[string]bool{}
	}
	for i, kind := range kinds {
		if u.going[kind] = going[i]; !going[i] {
			delete(u.going, kind)
		}
	}
	u.looked = r.Clock.Now()
	if (before > 0) != (len(u.going) > 0) {
		ctrl.LoggerFrom(ctx).Info("looked for definitions that are being deleted: while there are, nodes are told nothing", "kinds", slices.Sorted(maps.Keys(u.going)))
	}
	return nil
}

// goes asks the API server, which a cache may be behind, whether the definition of a kind is
// being deleted, or gone.
func (r *Fleet) goes(ctx context.Context, kind string) (bool, error) {
	mapping, err := r.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: kind}, v1alpha1.GroupVersion.Version)
	if err != nil {
		return false, fmt.Errorf("cannot find out what the API server calls %s: %w", kind, err)
	}
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	err = r.Live.Get(ctx, types.NamespacedName{Name: mapping.Resource.GroupResource().String()}, definition)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot find out whether %s is being uninstalled: %w", kind, err)
	}
	return err != nil || definition.DeletionTimestamp != nil, nil
}

// misses reports whether a NodeCatalog is gone whose Node is still there.
func (p *published) misses(c *compilation, existing nodeCatalogs) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for node, is := range p.nodes {
		if is.seen && existing[node] == nil && c.result.Nodes[node] != nil {
			return true
		}
	}
	return false
}

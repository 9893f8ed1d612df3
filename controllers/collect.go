package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// keepUnused is how long a Catalog stays that nothing refers to: an agent may be about
// to fetch it, and a node that is soon selected again needs it again.
const keepUnused = time.Hour

// unusedCatalogs knows since when catalogs are unused. The zero value knows nothing: a
// manager that starts gives all of them their hour.
type unusedCatalogs struct {
	since map[string]time.Time
	// before are the catalogs of a node's former spec, until the node has applied
	// its present one.
	before map[string][]v1alpha1.CatalogRef
}

// collectUnused deletes catalogs that were unused for long enough, and returns when it
// should look again.
func (r *Fleet) collectUnused(ctx context.Context, nodes nodeCatalogs) (time.Duration, error) {
	there, err := r.catalogsByName(ctx)
	if err != nil {
		return 0, err
	}
	expired, next := r.unused.expire(r.Clock.Now(), there, r.inUse(nodes))
	errs := each(len(expired), func(i int) error { return r.deleteCatalog(ctx, expired[i]) })
	if len(expired) > 0 {
		ctrl.LoggerFrom(ctx).Info("deleted unused catalogs", "catalogs", len(expired))
	}
	return next, errors.Join(errs...)
}

// inUse are the catalogs that a node should have, has been told to have, or had before
// what it has yet to apply.
func (r *Fleet) inUse(nodes nodeCatalogs) map[string]bool {
	used := map[string]bool{}
	use := func(refs []v1alpha1.CatalogRef) {
		for _, ref := range refs {
			used[ref.Name] = true
		}
	}
	for name := range r.compiled.result.Catalogs {
		used[name] = true
	}
	for _, nc := range nodes {
		use(nc.Spec.Catalogs)
	}
	for name, refs := range r.unused.before {
		nc, want := nodes[name], r.compiled.result.Nodes[name]
		if nc == nil || want == nil || want.Digest == nc.Status.AppliedDigest {
			delete(r.unused.before, name)
			continue
		}
		use(refs)
	}
	return used
}

// leaves remembers what a node had before its spec changes.
func (u *unusedCatalogs) leaves(node string, catalogs []v1alpha1.CatalogRef) {
	if u.before == nil {
		u.before = map[string][]v1alpha1.CatalogRef{}
	}
	if _, ok := u.before[node]; !ok {
		u.before[node] = catalogs
	}
}

// expire notes what is unused now, and returns what has been for too long and when
// the next one will be.
func (u *unusedCatalogs) expire(now time.Time, there map[string]*metav1.PartialObjectMetadata, used map[string]bool) ([]*metav1.PartialObjectMetadata, time.Duration) {
	since := map[string]time.Time{}
	var expired []*metav1.PartialObjectMetadata
	var next later
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if used[name] {
			continue
		}
		start, ok := u.since[name]
		if !ok {
			start = now
		}
		since[name] = start
		if left := start.Add(keepUnused).Sub(now); left > 0 {
			next.in(left)
		} else {
			expired = append(expired, there[name])
		}
	}
	u.since = since
	return expired, next.wait
}

func (r *Fleet) deleteCatalog(ctx context.Context, c *metav1.PartialObjectMetadata) error {
	err := r.Client.Delete(ctx, &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}, client.Preconditions{UID: &c.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete Catalog %s: %w", c.Name, err)
	}
	return nil
}

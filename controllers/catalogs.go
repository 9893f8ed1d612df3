package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// catalogGracePeriod is how long a Catalog stays that nothing refers to: an agent may be about to
// fetch it, and a node that is soon selected again needs it again. It begins anew with each
// manager.
const catalogGracePeriod = time.Hour

// A catalogCollector deletes unused Catalogs and CatalogRevisions, and remembers since when they are unused.
type catalogCollector struct {
	client client.Client
	unused map[string]time.Time // by name, which is the hash of the content of either
}

// collect deletes CatalogRevisions that no policy and no node needs, and Catalogs that none of the others has and that no node has or is to
// have. It returns when the next one is due.
func (c *catalogCollector) collect(ctx context.Context, s *snapshot, d desired, now time.Time) (time.Duration, error) {
	unused := map[string]time.Time{}
	var expired []client.Object
	var next limits.Wait
	consider := func(o client.Object) {
		unused[o.GetName()] = now
		if since, known := c.unused[o.GetName()]; known {
			unused[o.GetName()] = since
		}
		if left := unused[o.GetName()].Add(catalogGracePeriod).Sub(now); left > 0 {
			next.Add(left)
		} else {
			expired = append(expired, o)
		}
	}
	revisions := s.usedRevisions(d)
	for name, o := range s.revisions {
		if !revisions[name] {
			consider(o)
		}
	}
	used := s.usedCatalogs(d.compilation)
	for name, o := range s.catalogs {
		if !used[name] {
			consider(o)
		}
	}
	c.unused = unused
	errs := each(len(expired), func(i int) error { return c.delete(ctx, expired[i]) })
	if len(expired) > 0 {
		ctrl.LoggerFrom(ctx).Info("deleted unused Catalogs and CatalogRevisions", "objects", len(expired))
	}
	return time.Duration(next), errors.Join(errs...)
}

// usedRevisions returns the CatalogRevisions that policies name, and those that nodes have, with their parts.
func (s *snapshot) usedRevisions(d desired) map[string]bool {
	used := map[string]bool{}
	add := func(names ...string) {
		for _, name := range names {
			for _, part := range s.partsOf(name) {
				used[part] = true
			}
		}
	}
	add(d.newest.Name)
	for _, p := range s.policies {
		add(p.Spec.Revision, p.Status.Stable, p.Status.Target, p.Status.Pending)
		for _, r := range p.Status.History {
			add(r.Revision)
		}
	}
	for _, n := range d.assignments.byNode {
		if n.rollout != nil {
			add(n.rollout.Revision)
		}
	}
	return used
}

// usedCatalogs returns the Catalogs that nodes have or are to have, and those of all CatalogRevisions: one that is about to be deleted may
// be named again until then.
func (s *snapshot) usedCatalogs(compiled *compilation) map[string]bool {
	used := map[string]bool{}
	for _, all := range []map[string]*v1alpha1.Catalog{compiled.Catalogs, compiled.newest.Catalogs} { // the revision may have just been created
		for name := range all {
			used[name] = true
		}
	}
	for _, nc := range s.nodeCatalogs {
		for _, name := range catalogsIn(nc.Spec) {
			used[name] = true
		}
	}
	for name := range s.revisions {
		maps.Copy(used, s.catalogsOf(name))
	}
	return used
}

// catalogsIn returns the names of the Catalogs that a spec refers to.
func catalogsIn(spec v1alpha1.NodeCatalogSpec) (names []string) {
	for _, shared := range spec.Catalogs {
		names = append(names, shared.Name)
	}
	if spec.Rollout != nil {
		for _, t := range spec.Rollout.Types {
			names = append(names, t.Catalog)
		}
	}
	return names
}

func (c *catalogCollector) delete(ctx context.Context, o client.Object) error {
	err := c.client.Delete(ctx, o.DeepCopyObject().(client.Object), client.Preconditions{UID: new(o.GetUID())})
	return wrap(client.IgnoreNotFound(err), fmt.Sprintf("cannot delete %T %s", o, o.GetName()))
}

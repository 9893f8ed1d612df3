package controllers

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// catalogGracePeriod is how long a Catalog stays that nothing refers to: an agent may be about to
// fetch it, and a node that is soon selected again needs it again. It begins anew with each
// manager.
const catalogGracePeriod = time.Hour

// A catalogCollector deletes unused Catalogs, and remembers since when they are unused.
type catalogCollector struct {
	client client.Client
	unused map[string]time.Time // by name
}

// collect deletes Catalogs that no node has or is to have, and returns when the next one is due.
func (c *catalogCollector) collect(ctx context.Context, s *snapshot, compiled *compilation, now time.Time) (time.Duration, error) {
	used := map[string]bool{}
	for name := range compiled.Catalogs {
		used[name] = true
	}
	for _, nc := range s.nodeCatalogs {
		for _, shared := range nc.Spec.Catalogs {
			used[shared.Name] = true
		}
	}
	unused := map[string]time.Time{}
	var expired []*v1alpha1.Catalog
	var next limits.Wait
	for name, o := range s.catalogs {
		if used[name] {
			continue
		}
		unused[name] = now
		if since, known := c.unused[name]; known {
			unused[name] = since
		}
		if left := unused[name].Add(catalogGracePeriod).Sub(now); left > 0 {
			next.Add(left)
		} else {
			expired = append(expired, o)
		}
	}
	c.unused = unused
	errs := each(len(expired), func(i int) error { return c.delete(ctx, expired[i]) })
	if len(expired) > 0 {
		ctrl.LoggerFrom(ctx).Info("deleted unused Catalogs", "catalogs", len(expired))
	}
	return time.Duration(next), errors.Join(errs...)
}

func (c *catalogCollector) delete(ctx context.Context, o *v1alpha1.Catalog) error {
	err := c.client.Delete(ctx, &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: o.Name}}, client.Preconditions{UID: &o.UID})
	return wrap(client.IgnoreNotFound(err), "cannot delete Catalog "+o.Name)
}

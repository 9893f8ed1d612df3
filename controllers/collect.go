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

// collectCatalogs deletes Catalogs that no node has or is to have, and returns when the next one
// is due.
func (r *Fleet) collectCatalogs(ctx context.Context, s *snapshot) (time.Duration, error) {
	used := map[string]bool{}
	for name := range r.compiled.Catalogs {
		used[name] = true
	}
	for _, nc := range s.nodeCatalogs {
		for _, c := range nc.Spec.Catalogs {
			used[c.Name] = true
		}
	}
	now, since := r.Clock.Now(), map[string]time.Time{}
	var expired []*v1alpha1.Catalog
	var next limits.Wait
	for name, c := range s.catalogs {
		if used[name] {
			continue
		}
		since[name] = now
		if was, ok := r.unusedSince[name]; ok {
			since[name] = was
		}
		if left := since[name].Add(catalogGracePeriod).Sub(now); left > 0 {
			next.Add(left)
		} else {
			expired = append(expired, c)
		}
	}
	r.unusedSince = since
	errs := each(len(expired), func(i int) error { return r.deleteCatalog(ctx, expired[i]) })
	if len(expired) > 0 {
		ctrl.LoggerFrom(ctx).Info("deleted unused Catalogs", "catalogs", len(expired))
	}
	return time.Duration(next), errors.Join(errs...)
}

func (r *Fleet) deleteCatalog(ctx context.Context, c *v1alpha1.Catalog) error {
	err := r.Client.Delete(ctx, &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}, client.Preconditions{UID: &c.UID})
	return wrap(client.IgnoreNotFound(err), "cannot delete Catalog "+c.Name)
}

package controllers

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// writers is the number of concurrent requests. The client's own limit spreads a change over a
// large fleet; these hide the round trip.
const writers = 16

// each calls do for the numbers below n, several at a time, and returns the error of each.
func each(n int, do func(int) error) []error {
	errs := make([]error, n)
	resource.Each(n, writers, func(i int) { errs[i] = do(i) })
	return errs
}

// isRejection reports whether the API server answered that it does not accept an object, in
// contrast to being busy, away or unauthorized to answer.
func isRejection(err error) bool {
	return apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		apierrors.IsInvalid(err) || apierrors.IsInternalError(err)
}

// copyOf returns a copy of an object of a cache, to be changed by a request.
func copyOf(o v1alpha1.Resource) v1alpha1.Resource { return o.DeepCopyObject().(v1alpha1.Resource) }

// createCatalog accepts one that exists: its name is the hash of its content.
func (r *Fleet) createCatalog(ctx context.Context, c *v1alpha1.Catalog) error {
	if err := r.Client.Create(ctx, c.DeepCopy()); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("cannot create Catalog %s: %w", c.Name, err)
	}
	return nil
}

func (r *Fleet) writeNodeCatalog(ctx context.Context, u update) error {
	name := u.node.Name
	if u.has == nil {
		nc := &v1alpha1.NodeCatalog{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: nodeAsOwner(u.node)},
			Spec:       u.want.Spec,
		}
		err := r.Client.Create(ctx, nc)
		if client.IgnoreAlreadyExists(err) != nil { // the cache is behind
			return fmt.Errorf("cannot create NodeCatalog %s: %w", name, err)
		}
		if err == nil {
			r.specs.wrote(name, spec{}, r.written(u, nc))
		}
		return nil
	}
	patch, err := json.Marshal(specPatch(u))
	if err != nil {
		return fmt.Errorf("cannot encode NodeCatalog %s: %w", name, err)
	}
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err = r.Client.Patch(ctx, nc, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsNotFound(err) { // its deletion causes another reconciliation
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot patch NodeCatalog %s: %w", name, err)
	}
	r.specs.wrote(name, u.before, r.written(u, nc))
	return nil
}

// written returns the spec of a NodeCatalog that was just written.
func (r *Fleet) written(u update, nc *v1alpha1.NodeCatalog) spec {
	s := spec{u.want.Spec, nc.UID, nc.Generation, u.want.Digest, r.compiled.revision, u.has != nil}
	s.Cleanup = u.cleanup
	return s
}

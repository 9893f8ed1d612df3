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

// patchable returns a copy of an object of a cache, to be changed by a patch of its metadata or status. Of a resource of an
// external type, which is not a type of the client, it has the metadata.
func patchable(o v1alpha1.Resource) client.Object {
	if e, ok := o.(*v1alpha1.External); ok {
		return e.PartialObjectMetadata.DeepCopy()
	}
	return o.DeepCopyObject().(client.Object)
}

// A mergePatch is a JSON merge patch.
type mergePatch map[string]any

// Type implements [client.Patch].
func (mergePatch) Type() types.PatchType { return types.MergePatchType }

// Data implements [client.Patch].
func (p mergePatch) Data(client.Object) ([]byte, error) { return json.Marshal(p) }

// createCatalog accepts one that exists: its name is the hash of its content.
func (r *Fleet) createCatalog(ctx context.Context, c *v1alpha1.Catalog) error {
	return wrap(client.IgnoreAlreadyExists(r.Client.Create(ctx, c.DeepCopy())), "cannot create Catalog "+c.Name)
}

// writeNodeCatalog returns the NodeCatalog as it was written, or nil if the cache is behind: an event will
// cause another reconciliation.
func (r *Fleet) writeNodeCatalog(ctx context.Context, u update) (*v1alpha1.NodeCatalog, error) {
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: u.node.Name}}
	if u.has == nil {
		nc.OwnerReferences, nc.Spec = nodeAsOwner(u.node), *u.want.Spec.DeepCopy() // nodes share its lists
		u.mark.set(&nc.Spec)
		if err := r.Client.Create(ctx, nc); err != nil {
			return nil, wrap(client.IgnoreAlreadyExists(err), "cannot create NodeCatalog "+nc.Name)
		}
		return nc, nil
	}
	if err := r.Client.Patch(ctx, nc, specPatch(u)); err != nil {
		return nil, wrap(client.IgnoreNotFound(err), "cannot patch NodeCatalog "+nc.Name)
	}
	return nc, nil
}

// wrap describes an error; nil stays nil.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

package controllers

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// createHashed creates an object whose name is the hash of its content, unless it exists.
func createHashed(ctx context.Context, c client.Client, o client.Object) error {
	return client.IgnoreAlreadyExists(c.Create(ctx, o.DeepCopyObject().(client.Object)))
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

// wrap describes an error; nil stays nil.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

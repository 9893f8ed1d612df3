package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// catchUpEvery is how often a manager that waits for its caches looks at them.
const catchUpEvery = time.Second

// behind are the kinds whose caches have yet to get what the API server had, which is noted
// of those that were compared with it.
type behind map[string]*metav1.PartialObjectMetadataList

// catchUp returns how long to wait before the first pass; 0 once the caches have what the
// API server had when it was asked. A manager that takes over may have lost its watches, as
// the one before did its lease, with an API server that was away: what its caches have yet
// to hear of it would undo, or do again.
func (r *Fleet) catchUp(ctx context.Context) (time.Duration, error) {
	if len(r.behind) == 0 {
		r.behind = behind{"Node": nil, "Secret": nil, "NodeCatalog": nil} // ConfigMaps are read as they are
		for _, kind := range v1alpha1.Resources() {
			r.behind[kind.KindName()] = nil
		}
	}
	var failed []error
	for _, kind := range slices.Sorted(maps.Keys(r.behind)) {
		if err := r.catchUpWith(ctx, kind); err != nil {
			failed = append(failed, fmt.Errorf("cannot tell whether the cache of %s is behind: %w", kind, err))
		}
	}
	if err := errors.Join(failed...); err != nil || len(r.behind) == 0 {
		return 0, err
	}
	ctrl.LoggerFrom(ctx).Info("waiting for caches", "kinds", slices.Sorted(maps.Keys(r.behind)))
	return catchUpEvery, nil
}

func (r *Fleet) catchUpWith(ctx context.Context, kind string) error {
	wanted := r.behind[kind]
	if wanted == nil {
		var err error
		if wanted, err = r.listLive(ctx, kind); err != nil {
			return err
		}
	}
	has, err := r.listCached(ctx, kind)
	if err != nil {
		return err
	}
	switch older, lacks, err := compareLists(has, wanted); {
	case err != nil:
		return err
	case older:
		r.behind[kind] = wanted
	case lacks:
		r.behind[kind] = nil // it may have been deleted since: then the API server must be asked again
	default:
		delete(r.behind, kind)
	}
	return nil
}

// compareLists reports whether a cache has something older than the API server had, or that
// was deleted there, and whether it lacks something.
func compareLists(has client.ObjectList, wanted *metav1.PartialObjectMetadataList) (older, lacks bool, err error) {
	versions := make(map[types.NamespacedName]string, len(wanted.Items))
	for i := range wanted.Items {
		versions[client.ObjectKeyFromObject(&wanted.Items[i])] = wanted.Items[i].ResourceVersion
	}
	err = apimeta.EachListItem(has, func(o runtime.Object) error {
		m, err := apimeta.Accessor(o)
		if err != nil {
			return err
		}
		key, least := types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}, 0
		version, there := versions[key]
		if !there {
			version, least = wanted.ResourceVersion, 1 // it was made later, or it is gone
		}
		delete(versions, key)
		compared, err := resourceversion.CompareResourceVersion(m.GetResourceVersion(), version)
		older = older || compared < least
		return err
	})
	return older, len(versions) > 0, err
}

// listLive is what the API server has of a kind; nothing of one that is no more.
func (r *Fleet) listLive(ctx context.Context, kind string) (*metav1.PartialObjectMetadataList, error) {
	list := metadataList(kind)
	if err := r.Live.List(ctx, list, selected(kind)); err != nil && !apierrors.IsNotFound(err) && !apimeta.IsNoMatchError(err) {
		return nil, err
	}
	return list, nil
}

// listCached is what a cache has of a kind, which is the cache's own.
func (r *Fleet) listCached(ctx context.Context, kind string) (client.ObjectList, error) {
	metadata := metadataList(kind)
	if kind == "Node" {
		return metadata, r.Client.List(ctx, metadata, shared())
	}
	o, err := r.Client.Scheme().New(metadata.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	list, ok := o.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%T is no list", o)
	}
	return list, r.Client.List(ctx, list, shared(), selected(kind))
}

// selected are those of a kind that caches have.
func selected(kind string) client.ListOption {
	if kind == "Secret" {
		return client.MatchingLabelsSelector{Selector: exposedSecrets().Label}
	}
	return &client.ListOptions{}
}

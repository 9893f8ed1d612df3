package externalkinds

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// objects are the resources of a kind as they were last listed.
type objects struct {
	decoded map[types.UID]*v1alpha1.External
	living  map[string]bool // the names of those that were not being deleted; nil if they were never listed
	broken  map[string]bool // the names of those that cannot be decoded
}

// list returns the resources of the kind. If one is missing that was there before, the definition may be being deleted,
// which its cached metadata need not show yet.
func (d *definition) list(ctx context.Context, cached, live client.Reader) ([]*v1alpha1.External, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.ExternalGroupVersion.WithKind(d.kind + "List"))
	err := cached.List(ctx, list, client.UnsafeDisableDeepCopy)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		d.leaving = true
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list %s.%s: %w", d.plural, group, err)
	}
	before := d.objects
	all := d.decode(list.Items)
	if d.leaving || before.living != nil && !vanished(before.living, d.living) {
		return all, nil
	}
	if d.leaving, err = d.isGone(ctx, live); err != nil {
		d.objects = before // ask again
	}
	return all, err
}

func vanished(before, now map[string]bool) bool {
	for name := range before {
		if !now[name] {
			return true
		}
	}
	return false
}

// decode decodes resources whose version is new. The others are the same again.
func (d *definition) decode(items []unstructured.Unstructured) []*v1alpha1.External {
	next := objects{make(map[types.UID]*v1alpha1.External, len(items)), make(map[string]bool, len(items)), map[string]bool{}}
	all := make([]*v1alpha1.External, 0, len(items))
	for i := range items {
		u := &items[i]
		if u.GetDeletionTimestamp() == nil {
			next.living[u.GetName()] = true
		}
		r := d.decoded[u.GetUID()]
		if r == nil || r.ResourceVersion != u.GetResourceVersion() {
			r = decode(u)
		}
		if r == nil {
			next.broken[u.GetName()] = true
			continue
		}
		next.decoded[r.UID] = r
		all = append(all, r)
	}
	d.objects = next
	return all
}

// decode returns nil if a definition without the usual schema let something else through.
func decode(u *unstructured.Unstructured) *v1alpha1.External {
	r := &v1alpha1.External{}
	text, err := json.Marshal(u.Object)
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err != nil {
		return nil
	}
	return r
}

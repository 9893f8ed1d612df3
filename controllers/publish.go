package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// writers is how many writes are under way at once. The client's own limit spreads a
// change over a large fleet; this one hides the way there and back.
const writers = 16

// publish writes what was compiled: catalogs first, so that no node is told of one
// that does not exist.
func (r *Fleet) publish(ctx context.Context) error {
	existing, err := r.nodeCatalogsByName(ctx)
	if err != nil {
		return err
	}
	there, err := r.catalogNames(ctx)
	if err != nil {
		return err
	}
	missing := missingCatalogs(r.compiled.result.Catalogs, there)
	failed := each(len(missing), func(i int) error { return r.createCatalog(ctx, missing[i]) })
	changes := nodeChanges(r.compiled, existing)
	for i, c := range missing {
		if failed[i] != nil {
			changes = slices.DeleteFunc(changes, func(n nodeChange) bool { return n.needs(c.Name) })
		}
	}
	for _, c := range changes {
		if has := existing[c.node]; has != nil {
			r.unused.leaves(c.node, has.Spec.Catalogs)
		}
	}
	undone := each(len(changes), func(i int) error { return r.writeNode(ctx, changes[i]) })
	if len(missing)+len(changes) > 0 {
		ctrl.LoggerFrom(ctx).Info("published", "catalogs", len(missing), "nodeCatalogs", len(changes))
	}
	return errors.Join(errors.Join(failed...), errors.Join(undone...))
}

func (r *Fleet) catalogNames(ctx context.Context) (map[string]*metav1.PartialObjectMetadata, error) {
	list := metadataList("Catalog")
	if err := r.Client.List(ctx, list, shared()); err != nil {
		return nil, fmt.Errorf("cannot list Catalogs: %w", err)
	}
	m := make(map[string]*metav1.PartialObjectMetadata, len(list.Items))
	for i := range list.Items {
		m[list.Items[i].Name] = &list.Items[i]
	}
	return m, nil
}

func missingCatalogs(wanted map[string]*v1alpha1.Catalog, there map[string]*metav1.PartialObjectMetadata) []*v1alpha1.Catalog {
	var missing []*v1alpha1.Catalog
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if there[name] == nil {
			missing = append(missing, wanted[name])
		}
	}
	return missing
}

func (r *Fleet) createCatalog(ctx context.Context, c *v1alpha1.Catalog) error {
	// Its name is its content's: one that exists is the same.
	if err := r.Client.Create(ctx, c.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cannot create Catalog %s: %w", c.Name, err)
	}
	return nil
}

// A nodeChange is what is to be done about one NodeCatalog.
type nodeChange struct {
	node   string
	uid    types.UID // of the Node; "" where there is none any more
	spec   v1alpha1.NodeCatalogSpec
	remove *v1alpha1.NodeCatalog // is to go: its Node did
	create bool                  // otherwise it is there and changes
}

// nodeChanges compares what nodes should have with what they have.
func nodeChanges(c *compilation, existing map[string]*v1alpha1.NodeCatalog) []nodeChange {
	var changes []nodeChange
	for _, node := range slices.Sorted(maps.Keys(c.result.Nodes)) {
		want := nodeChange{node: node, uid: c.nodes[node], spec: c.result.Nodes[node].Spec}
		has := existing[node]
		switch {
		case has == nil:
			want.create = true
		case !ownedBy(has, want.uid):
			want.remove = has
		case catalog.SameSpec(has.Spec, want.spec):
			continue
		}
		changes = append(changes, want)
	}
	for _, name := range slices.Sorted(maps.Keys(existing)) {
		if c.result.Nodes[name] == nil {
			changes = append(changes, nodeChange{node: name, remove: existing[name]})
		}
	}
	return changes
}

// needs reports whether the change is of no use without a catalog.
func (c nodeChange) needs(name string) bool {
	return slices.Contains(c.spec.Catalogs, v1alpha1.CatalogRef{Name: name})
}

func (r *Fleet) writeNode(ctx context.Context, c nodeChange) error {
	switch {
	case c.remove != nil:
		return r.removeNode(ctx, c)
	case c.create:
		return r.createNode(ctx, c)
	}
	patch, err := specPatch(c.spec)
	if err != nil {
		return fmt.Errorf("cannot encode NodeCatalog %s: %w", c.node, err)
	}
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: c.node}}
	err = r.Client.Patch(ctx, nc, client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil { // its deletion will cause another pass
		return fmt.Errorf("cannot patch NodeCatalog %s: %w", c.node, err)
	}
	return nil
}

// specPatch replaces all of a spec but noop, which is not ours. What is absent is
// removed: a merge patch would keep it.
func specPatch(spec v1alpha1.NodeCatalogSpec) ([]byte, error) {
	type all struct {
		Catalogs []v1alpha1.CatalogRef   `json:"catalogs"`
		Entries  []v1alpha1.CatalogEntry `json:"entries"`
		Withheld []v1alpha1.Withheld     `json:"withheld"`
	}
	return json.Marshal(map[string]all{"spec": {spec.Catalogs, spec.Entries, spec.Withheld}})
}

func (r *Fleet) createNode(ctx context.Context, c nodeChange) error {
	nc := &v1alpha1.NodeCatalog{
		ObjectMeta: metav1.ObjectMeta{
			Name:            c.node,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: c.node, UID: c.uid}},
		},
		Spec: c.spec,
	}
	err := r.Client.Create(ctx, nc)
	if client.IgnoreAlreadyExists(err) != nil { // the cache is behind, and will cause another pass
		return fmt.Errorf("cannot create NodeCatalog %s: %w", c.node, err)
	}
	return nil
}

// removeNode removes the NodeCatalog of a Node that is gone, which the garbage
// collector does as well: then there is nothing left to do. It asks the API server
// once more, as the cache may not know a Node that has just joined.
func (r *Fleet) removeNode(ctx context.Context, c nodeChange) error {
	node := &metav1.PartialObjectMetadata{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	err := r.Live.Get(ctx, types.NamespacedName{Name: c.node}, node)
	if err == nil && ownedBy(c.remove, node.UID) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot look for Node %s: %w", c.node, err)
	}
	err = r.Client.Delete(ctx, c.remove.DeepCopy(), client.Preconditions{UID: &c.remove.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete NodeCatalog %s: %w", c.node, err)
	}
	return nil
}

// each does something to n things by number, several at a time, and returns the error
// of each.
func each(n int, do func(int) error) []error {
	errs := make([]error, n)
	turns := make(chan struct{}, writers)
	var wg sync.WaitGroup
	for i := range n {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			errs[i] = do(i)
		})
	}
	wg.Wait()
	return errs
}

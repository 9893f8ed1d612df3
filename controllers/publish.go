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
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
)

// writers is how many writes are under way at once. The client's own limit spreads a
// change over a large fleet; this one hides the way there and back.
const writers = 16

// publish writes what was compiled: catalogs first, so that no node is told of one
// that does not exist.
func (r *Fleet) publish(ctx context.Context, existing nodeCatalogs) error {
	there, err := r.catalogsByName(ctx)
	if err != nil {
		return err
	}
	missing := missingCatalogs(r.compiled.result.Catalogs, there)
	failed := each(len(missing), func(i int) error { return r.createCatalog(ctx, missing[i]) })
	changes, unclear := r.holdBack(ctx, r.published.changes(r.compiled, existing), existing)
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
	undone := r.writeAll(ctx, changes)
	if len(missing)+len(changes) > 0 {
		ctrl.LoggerFrom(ctx).Info("published", "catalogs", len(missing), "nodeCatalogs", len(changes))
	}
	return errors.Join(errors.Join(failed...), undone, unclear)
}

func (r *Fleet) catalogsByName(ctx context.Context) (map[string]*metav1.PartialObjectMetadata, error) {
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
	uid    types.UID                // of the Node; "" where there is none any more
	want   *compiler.NodeResult     // nil where its Node is gone
	has    *v1alpha1.NodeCatalog    // nil where it is to be made
	before v1alpha1.NodeCatalogSpec // what it says now, as far as is known
	remove bool                     // its Node is gone, or another
	// generation is that of before.
	generation int64
	at         string    // where what it says now can be found: another one once it says something else
	since      revisions // of resources when it last said what it should; nil if that is not known
	now        revisions // of resources that want was made from
	cleanup    []v1alpha1.CleanupRef
}

// published knows which specs were found or made as they should be, so that they are
// neither compared nor written again: a cache may be behind what was just written. The zero
// value knows nothing. Safe for concurrent use.
type published struct {
	mu    sync.Mutex
	nodes map[string]publication
}

type publication struct {
	result     *compiler.NodeResult
	uid        types.UID // of the NodeCatalog
	generation int64
	resources  revisions // when it last said what it should; nil for never
	seen       bool      // in the cache
	cleanup    []v1alpha1.CleanupRef
}

// wrote notes a NodeCatalog as it was written. Where somebody else wrote it in between, it may
// not be all that it should, and the cache will tell.
func (p *published) wrote(c nodeChange, nc *v1alpha1.NodeCatalog) {
	if c.has != nil && nc.Generation > c.generation+1 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes[c.node] = publication{c.want, nc.UID, nc.Generation, c.now, c.has != nil, c.cleanup}
}

// applied is what a node has applied by its NodeCatalog, nil for none.
func (p *published) applied(node string, nc *v1alpha1.NodeCatalog) application {
	if nc == nil {
		return application{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	wrote := p.nodes[node].newer(nc).generation
	return application{nc.Status.AppliedDigest, nc.Status.AppliedGeneration >= max(wrote, nc.Generation)}
}

// changes compares what nodes should have with what they have.
func (p *published) changes(c *compilation, existing nodeCatalogs) []nodeChange {
	p.mu.Lock()
	defer p.mu.Unlock()
	var changes []nodeChange
	known := p.nodes
	p.nodes = make(map[string]publication, len(c.result.Nodes))
	for _, node := range slices.Sorted(maps.Keys(c.result.Nodes)) {
		want := nodeChange{node: node, uid: c.nodes[node], want: c.result.Nodes[node], has: existing[node], now: c.resources}
		if want.has != nil {
			want.remove = !ownedBy(want.has, want.uid)
			is := known[node].newer(want.has)
			want.before, want.generation, want.since = is.spec(want.has), is.generation, is.resources
			want.at = fmt.Sprintf("%s %d", is.uid, is.generation)
			if !want.remove && (is.result == want.want || catalog.SameSpec(want.before, want.want.Spec)) {
				p.nodes[node] = publication{want.want, is.uid, is.generation, c.resources, true, want.before.Cleanup}
				continue
			}
			p.nodes[node] = is
		} else if made, ok := known[node]; ok && !made.seen {
			p.nodes[node] = made // the cache has yet to hear of it
		}
		changes = append(changes, want)
	}
	for _, name := range slices.Sorted(maps.Keys(existing)) {
		if c.result.Nodes[name] == nil {
			changes = append(changes, nodeChange{node: name, has: existing[name], remove: true})
		}
	}
	return changes
}

// newer is what is known of a NodeCatalog, or, where a cache has something else that is
// no older, that.
func (p publication) newer(has *v1alpha1.NodeCatalog) publication {
	is := publication{uid: has.UID, generation: has.Generation, seen: true}
	if p.uid == has.UID {
		is.resources = p.resources
		if p.seen = true; p.generation >= has.Generation {
			return p
		}
	}
	return is
}

// spec is what a NodeCatalog says.
func (p publication) spec(has *v1alpha1.NodeCatalog) v1alpha1.NodeCatalogSpec {
	if p.result != nil && p.generation > has.Generation {
		spec := p.result.Spec
		spec.Cleanup = p.cleanup
		return spec
	}
	return has.Spec
}

// specOf is what a NodeCatalog says, be the cache behind or not.
func (p *published) specOf(nc *v1alpha1.NodeCatalog) v1alpha1.NodeCatalogSpec {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nodes[nc.Name].newer(nc).spec(nc)
}

// edits reports whether a NodeCatalog is there and stays.
func (c nodeChange) edits() bool { return c.has != nil && !c.remove }

// needs reports whether the change is of no use without a catalog.
func (c nodeChange) needs(name string) bool {
	return !c.remove && slices.Contains(c.want.Spec.Catalogs, v1alpha1.CatalogRef{Name: name})
}

func (r *Fleet) writeNodeCatalog(ctx context.Context, c nodeChange) error {
	switch {
	case c.remove:
		return r.removeNodeCatalog(ctx, c)
	case c.has == nil:
		return r.createNodeCatalog(ctx, c)
	}
	patch, err := specPatch(c)
	if err != nil {
		return fmt.Errorf("cannot encode NodeCatalog %s: %w", c.node, err)
	}
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: c.node}}
	err = r.Client.Patch(ctx, nc, client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil { // its deletion will cause another pass
		return fmt.Errorf("cannot patch NodeCatalog %s: %w", c.node, err)
	}
	if err == nil {
		r.published.wrote(c, nc)
	}
	return nil
}

// specPatch replaces the lists of a spec that are others than before. One that is empty is
// said to be: a merge patch would keep it otherwise. noop is not ours.
func specPatch(c nodeChange) ([]byte, error) {
	before, now, spec := c.before, c.want.Spec, map[string]any{}
	if !slices.Equal(before.Catalogs, now.Catalogs) {
		spec["catalogs"] = now.Catalogs
	}
	if !catalog.SameEntries(before.Entries, now.Entries) {
		spec["entries"] = now.Entries
	}
	if !slices.Equal(before.Withheld, now.Withheld) {
		spec["withheld"] = now.Withheld
	}
	if !slices.Equal(before.Cleanup, c.cleanup) {
		spec["cleanup"] = c.cleanup
	}
	// An empty entry drops all others: what the node's agent wrote there takes no room.
	return json.Marshal(map[string]any{"spec": spec, "metadata": map[string]any{"managedFields": []any{map[string]any{}}}})
}

func (r *Fleet) createNodeCatalog(ctx context.Context, c nodeChange) error {
	nc := &v1alpha1.NodeCatalog{
		ObjectMeta: metav1.ObjectMeta{
			Name:            c.node,
			OwnerReferences: nodeAsOwner(c.node, c.uid),
		},
		Spec: c.want.Spec,
	}
	err := r.Client.Create(ctx, nc)
	if client.IgnoreAlreadyExists(err) != nil { // the cache is behind, and will cause another pass
		return fmt.Errorf("cannot create NodeCatalog %s: %w", c.node, err)
	}
	if err == nil {
		r.published.wrote(c, nc)
	}
	return nil
}

// removeNodeCatalog removes the NodeCatalog of a Node that is gone, which the garbage
// collector does as well: then there is nothing left to do. It asks the API server
// once more, as the cache may not know a Node that has just joined.
func (r *Fleet) removeNodeCatalog(ctx context.Context, c nodeChange) error {
	node := &metav1.PartialObjectMetadata{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	err := r.Live.Get(ctx, types.NamespacedName{Name: c.node}, node)
	if err == nil && ownedBy(c.has, node.UID) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot look for Node %s: %w", c.node, err)
	}
	err = r.Client.Delete(ctx, c.has.DeepCopy(), client.Preconditions{UID: &c.has.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete NodeCatalog %s: %w", c.node, err)
	}
	return nil
}

// each does something to n things by number, several at a time, and returns the error
// of each.
func each(n int, do func(int) error) []error {
	errs := make([]error, n)
	resource.Each(n, writers, func(i int) { errs[i] = do(i) })
	return errs
}

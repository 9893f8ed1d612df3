// Package live keeps what a cluster knows of a fleet up to date, by watches with the rights of the caller.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// ErrReading is the error while objects are read for the first time.
var ErrReading = errors.New("the objects are still being read")

// A Cache has what a cluster knows of its nodes and their resources. Safe for concurrent use.
type Cache struct {
	ctx      context.Context //nolint:containedctx // of watches that start when somebody asks for their objects
	objects  dynamic.Interface
	metadata metadata.Interface
	client   *overview.Client

	catalogs collection[overview.NodeCatalog]
	nodes    collection[overview.Node]
	fleets   collection[v1alpha1.Fleet]
	policies collection[v1alpha1.RolloutPolicy]
	// revisions has the names of CatalogRevisions, and contents what they have.
	revisions collection[string]
	contents  *overview.RevisionCache

	mu        sync.Mutex
	version   uint64
	next      chan struct{} // is closed by the next change
	resources map[schema.GroupVersionResource]*collection[overview.Resource]
}

// Watch returns a Cache that is kept up to date until ctx ends. It makes no request itself.
func Watch(ctx context.Context, cfg *rest.Config) (*Cache, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // some twenty watches start at once
	f := &Cache{ctx: ctx, next: make(chan struct{}), resources: map[schema.GroupVersionResource]*collection[overview.Resource]{}}
	var err error
	if f.objects, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	if f.metadata, err = metadata.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("cannot make a client for Nodes: %w", err)
	}
	if f.client, err = overview.Connect(cfg); err != nil {
		return nil, err
	}
	f.catalogs = collection[overview.NodeCatalog]{convert: fromUnstructured[overview.NodeCatalog], changed: f.bump}
	f.fleets = collection[v1alpha1.Fleet]{convert: fromUnstructured[v1alpha1.Fleet], changed: f.bump}
	f.nodes = collection[overview.Node]{convert: node, changed: f.bump}
	f.policies = collection[v1alpha1.RolloutPolicy]{convert: fromUnstructured[v1alpha1.RolloutPolicy], changed: f.bump}
	f.revisions, f.contents = collection[string]{convert: name, changed: f.bump}, f.client.RevisionCache()
	return f, nil
}

// NodeCatalogs returns the NodeCatalogs by name. The caller must not change them. The error is ErrReading at first; later it says why
// the result is outdated, or empty.
func (f *Cache) NodeCatalogs() ([]overview.NodeCatalog, error) {
	f.catalogs.watch(f.ctx, &unstructured.Unstructured{}, unstructuredSource{f.objects.Resource(v1alpha1.GroupVersion.WithResource("nodecatalogs"))})
	return f.catalogs.all()
}

// Nodes returns the Nodes by name, with their NodeCatalogs. Errors are as of [Cache.NodeCatalogs].
func (f *Cache) Nodes() ([]overview.Node, error) {
	f.nodes.watch(f.ctx, &metav1.PartialObjectMetadata{}, metadataSource{f.metadata.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})})
	catalogs, err := f.NodeCatalogs()
	nodes, nodesErr := f.nodes.all()
	return overview.WithCatalogs(nodes, catalogs), errors.Join(err, nodesErr)
}

// FleetStatus returns what the manager wrote of the fleet; the zero value before it did. Errors are as of [Cache.NodeCatalogs].
func (f *Cache) FleetStatus() (v1alpha1.FleetStatus, error) {
	f.fleets.watch(f.ctx, &unstructured.Unstructured{}, unstructuredSource{f.objects.Resource(v1alpha1.GroupVersion.WithResource("fleets"))})
	all, err := f.fleets.all()
	if len(all) == 0 { // before a manager has created the only one
		return v1alpha1.FleetStatus{}, err
	}
	return all[0].Status, err
}

// Policies returns the RolloutPolicies by name; none if the manager is older and knows none. Errors are as of [Cache.NodeCatalogs].
func (f *Cache) Policies() ([]v1alpha1.RolloutPolicy, error) {
	f.policies.watch(f.ctx, &unstructured.Unstructured{}, unstructuredSource{f.objects.Resource(v1alpha1.GroupVersion.WithResource("rolloutpolicies"))})
	all, err := f.policies.all()
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return all, err
}

// Waits returns what nodes wait for because of rollouts. It reads revisions when they are new. Errors are as of [Cache.NodeCatalogs].
func (f *Cache) Waits(ctx context.Context, nodes []overview.Node) (overview.Waits, error) {
	all, err := f.Policies()
	policies := overview.PoliciesOf(all)
	if err != nil || !slices.ContainsFunc(policies, overview.Policy.Active) {
		return overview.Waits{}, err
	}
	f.revisions.watch(f.ctx, &metav1.PartialObjectMetadata{}, metadataSource{f.metadata.Resource(v1alpha1.GroupVersion.WithResource("catalogrevisions"))})
	kept, err := f.revisions.all()
	if err != nil {
		return overview.Waits{}, err
	}
	return f.contents.Waits(ctx, policies, kept, nodes)
}

// Entries returns the catalog of a node. Each call asks the cluster.
func (f *Cache) Entries(ctx context.Context, node string) ([]overview.Entry, error) {
	return f.client.Entries(ctx, node)
}

// Difference asks a node how it differs from its catalog. Each call asks the node.
func (f *Cache) Difference(ctx context.Context, node string) overview.Difference {
	return f.client.Difference(ctx, node)
}

// Resources returns the resources of all kinds by kind and name. Errors are as of [Cache.NodeCatalogs]; resources of other kinds are
// returned nevertheless.
func (f *Cache) Resources(ctx context.Context) ([]overview.Resource, error) {
	kinds, err := f.client.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	var all []overview.Resource
	var errs []error
	for _, k := range kinds {
		some, err := f.resourcesOf(k.GroupVersionResource).all()
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b overview.Resource) int { return cmp.Compare(a.Kind, b.Kind) })
	return all, errors.Join(errs...)
}

func (f *Cache) resourcesOf(kind schema.GroupVersionResource) *collection[overview.Resource] {
	f.mu.Lock()
	c := f.resources[kind]
	if c == nil {
		c = &collection[overview.Resource]{convert: fromUnstructured[overview.Resource], changed: f.bump}
		f.resources[kind] = c
	}
	f.mu.Unlock()
	c.watch(f.ctx, &unstructured.Unstructured{}, unstructuredSource{f.objects.Resource(kind)})
	return c
}

// Version returns a number that grows with each change of anything that was asked for, and a channel that the next change closes.
func (f *Cache) Version() (uint64, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version, f.next
}

func (f *Cache) bump() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	close(f.next)
	f.next = make(chan struct{})
}

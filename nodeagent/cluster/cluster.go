// Package cluster is an agent's access to the API server: it watches one NodeCatalog, fetches Catalogs, and writes
// the status and the Lease of its node.
//
// It has a cache and a client, but no controller-runtime manager: a manager waits for its caches to sync, which
// requires the API server.
package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/nodeagent/lease"
)

// fieldOwner is the field manager of what an agent writes.
const fieldOwner = "fettle-nodeagent"

// RequestTimeout is the limit for one request.
const RequestTimeout = 30 * time.Second

// A Cluster is the API server as one node's agent uses it. It is safe for concurrent use.
type Cluster struct {
	node   string
	client client.WithWatch // uncached
	cache  cache.Cache
}

// Connect returns the cluster without making a request. It needs no discovery, so it works without the API server.
func Connect(cfg *rest.Config, node string) (*Cluster, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := reports.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"NodeQuestion", "NodeAnswer"} {
		mapper.Add(reports.GroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	for _, kind := range []string{"NodeCatalog", "Catalog", "ExternalType"} {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	nodeCatalog, err := cache.New(cfg, cache.Options{
		Scheme: scheme, Mapper: mapper,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.NodeCatalog{}: {Field: fields.OneTermEqualSelector("metadata.name", node), Transform: cache.TransformStripManagedFields()},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make a cache: %w", err)
	}
	return &Cluster{node: node, client: c, cache: nodeCatalog}, nil
}

// Watch calls seen with the NodeCatalog and again whenever it changes, until ctx ends. seen must not modify the object.
func (c *Cluster) Watch(ctx context.Context, seen func(*v1alpha1.NodeCatalog)) error {
	informer, err := c.cache.GetInformer(ctx, &v1alpha1.NodeCatalog{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("cannot watch NodeCatalog %s: %w", c.node, err)
	}
	handle := func(obj any) {
		if nc, ok := obj.(*v1alpha1.NodeCatalog); ok && nc.Name == c.node {
			seen(nc)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: handle, UpdateFunc: func(_, obj any) { handle(obj) },
	})
	if err != nil {
		return fmt.Errorf("cannot watch NodeCatalog %s: %w", c.node, err)
	}
	return c.cache.Start(ctx)
}

// NodeCatalog returns the NodeCatalog as it is now, nil if there is none. An agent may only list it.
func (c *Cluster) NodeCatalog(ctx context.Context) (*v1alpha1.NodeCatalog, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	var found v1alpha1.NodeCatalogList
	if err := c.client.List(ctx, &found, client.MatchingFields{"metadata.name": c.node}); err != nil {
		return nil, err
	}
	for i := range found.Items {
		if found.Items[i].Name == c.node {
			return &found.Items[i], nil
		}
	}
	return nil, nil
}

// Catalog fetches a Catalog. The caller verifies it.
func (c *Cluster) Catalog(ctx context.Context, name string) (*v1alpha1.Catalog, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	var found v1alpha1.Catalog
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, &found); err != nil {
		return nil, err
	}
	return &found, nil
}

// ExternalType fetches an ExternalType. The caller verifies it.
func (c *Cluster) ExternalType(ctx context.Context, name string) (*v1alpha1.ExternalType, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	var found v1alpha1.ExternalType
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, &found); err != nil {
		return nil, err
	}
	return &found, nil
}

// WriteStatus patches the fields of the status that differ, and returns the new object. Only the agent writes this
// status, so there are no conflicts.
func (c *Cluster) WriteStatus(ctx context.Context, nc *v1alpha1.NodeCatalog, status v1alpha1.NodeCatalogStatus) (*v1alpha1.NodeCatalog, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	before := &v1alpha1.NodeCatalog{ObjectMeta: nc.ObjectMeta, Status: nc.Status} // both are encoded to find what differs
	next := before.DeepCopy()
	next.Status = *status.DeepCopy() // the response is decoded into next
	if err := c.client.Status().Patch(ctx, next, client.MergeFrom(before), client.FieldOwner(fieldOwner)); err != nil {
		return nil, err
	}
	return next, nil
}

// RenewLease writes the time of the renewal, and returns how long the Lease lasts.
func (c *Cluster) RenewLease(ctx context.Context, now time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, lease.Shortest)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"holderIdentity": c.node, "renewTime": metav1.NewMicroTime(now)}})
	if err != nil {
		return 0, fmt.Errorf("cannot encode the Lease: %w", err)
	}
	renewed := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: c.node}}
	if err := c.client.Patch(ctx, renewed, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldOwner)); err != nil {
		return 0, err
	}
	if s := renewed.Spec.LeaseDurationSeconds; s != nil {
		return time.Duration(*s) * time.Second, nil
	}
	return lease.Default, nil
}

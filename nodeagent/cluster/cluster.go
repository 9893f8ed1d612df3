// Package cluster is an agent's access to the API server: it watches one NodeCatalog, fetches Catalogs, and writes
// the status and the Lease of its node.
//
// It has the REST client of client-go, and not that of controller-runtime, which adds every API of Kubernetes to the program.
package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/nodeagent/lease"
)

// fieldOwner is the field manager of what an agent writes.
const fieldOwner = "fettle-nodeagent"

// RequestTimeout is the limit for one request.
const RequestTimeout = 30 * time.Second

// The resources that an agent reads and writes.
const (
	nodeCatalogs  = "nodecatalogs"
	catalogs      = "catalogs"
	externalTypes = "externaltypes"
	leases        = "leases"
	nodeQuestions = "nodequestions"
	nodeAnswers   = "nodeanswers"
)

// A Cluster is the API server as one node's agent uses it. It is safe for concurrent use.
type Cluster struct {
	node    string
	clients map[string]rest.Interface // by resource: each has a rate limit of its own
}

// Connect returns the cluster without making a request. It needs no discovery, so it works without the API server.
func Connect(cfg *rest.Config, node string) (*Cluster, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, coordinationv1.AddToScheme, reports.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	transport, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	c := &Cluster{node: node, clients: map[string]rest.Interface{}}
	for resource, of := range map[string]schema.GroupVersion{
		nodeCatalogs: v1alpha1.GroupVersion, catalogs: v1alpha1.GroupVersion, externalTypes: v1alpha1.GroupVersion,
		leases: coordinationv1.SchemeGroupVersion, nodeQuestions: reports.GroupVersion, nodeAnswers: reports.GroupVersion,
	} {
		own := rest.CopyConfig(cfg)
		own.APIPath, own.GroupVersion, own.NegotiatedSerializer = "/apis", &of, serializer.NewCodecFactory(scheme).WithoutConversion()
		if c.clients[resource], err = rest.RESTClientForConfigAndClient(own, transport); err != nil {
			return nil, fmt.Errorf("cannot make a client: %w", err)
		}
	}
	return c, nil
}

// Watch calls seen with the NodeCatalog and again whenever it changes, until ctx ends. seen must not modify the object.
func (c *Cluster) Watch(ctx context.Context, seen func(*v1alpha1.NodeCatalog)) {
	handle := func(obj any) {
		if nc, ok := obj.(*v1alpha1.NodeCatalog); ok && nc.Name == c.node {
			seen(nc)
		}
	}
	_, informer := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: toolscache.NewListWatchFromClient(c.clients[nodeCatalogs], nodeCatalogs, metav1.NamespaceNone, c.own()),
		ObjectType:    &v1alpha1.NodeCatalog{},
		Transform:     withoutManagedFields,
		Handler:       toolscache.ResourceEventHandlerFuncs{AddFunc: handle, UpdateFunc: func(_, obj any) { handle(obj) }},
	})
	informer.RunWithContext(ctx)
}

// own selects the object of the node.
func (c *Cluster) own() fields.Selector {
	return fields.OneTermEqualSelector(metav1.ObjectNameField, c.node)
}

// withoutManagedFields removes what nobody reads from an object that is kept.
func withoutManagedFields(obj any) (any, error) {
	if nc, ok := obj.(*v1alpha1.NodeCatalog); ok {
		nc.ManagedFields = nil
	}
	return obj, nil
}

// get fetches an object into found.
func (c *Cluster) get(ctx context.Context, resource, name string, found runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	return c.clients[resource].Get().Resource(resource).Name(name).Do(ctx).Into(found)
}

// patch starts a merge patch.
func (c *Cluster) patch(resource, name string, content []byte) *rest.Request {
	return c.clients[resource].Patch(types.MergePatchType).Resource(resource).Name(name).Body(content).Param("fieldManager", fieldOwner)
}

// NodeCatalog returns the NodeCatalog as it is now, nil if there is none. An agent may only list it.
func (c *Cluster) NodeCatalog(ctx context.Context) (*v1alpha1.NodeCatalog, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	var found v1alpha1.NodeCatalogList
	if err := c.clients[nodeCatalogs].Get().Resource(nodeCatalogs).Param("fieldSelector", c.own().String()).Do(ctx).Into(&found); err != nil {
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
	var found v1alpha1.Catalog
	if err := c.get(ctx, catalogs, name, &found); err != nil {
		return nil, err
	}
	return &found, nil
}

// ExternalType fetches an ExternalType. The caller verifies it.
func (c *Cluster) ExternalType(ctx context.Context, name string) (*v1alpha1.ExternalType, error) {
	var found v1alpha1.ExternalType
	if err := c.get(ctx, externalTypes, name, &found); err != nil {
		return nil, err
	}
	return &found, nil
}

// WriteStatus patches the fields of the status that differ, and returns the new object. Only the agent writes this
// status, so there are no conflicts.
func (c *Cluster) WriteStatus(ctx context.Context, nc *v1alpha1.NodeCatalog, status v1alpha1.NodeCatalogStatus) (*v1alpha1.NodeCatalog, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	patch, err := difference(nc.Status, status)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the status: %w", err)
	}
	var written v1alpha1.NodeCatalog
	if err := c.patch(nodeCatalogs, nc.Name, patch).SubResource("status").Do(ctx).Into(&written); err != nil {
		return nil, err
	}
	return &written, nil
}

// difference returns the merge patch from one status to another.
func difference(before, after v1alpha1.NodeCatalogStatus) ([]byte, error) {
	from, err := json.Marshal(v1alpha1.NodeCatalog{Status: before})
	if err != nil {
		return nil, err
	}
	to, err := json.Marshal(v1alpha1.NodeCatalog{Status: after})
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(from, to)
}

// RenewLease writes the time of the renewal, and returns how long the Lease lasts.
func (c *Cluster) RenewLease(ctx context.Context, now time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, lease.Shortest)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"holderIdentity": c.node, "renewTime": metav1.NewMicroTime(now)}})
	if err != nil {
		return 0, fmt.Errorf("cannot encode the Lease: %w", err)
	}
	var renewed coordinationv1.Lease
	if err := c.patch(leases, c.node, patch).Namespace(v1alpha1.AgentNamespace).Do(ctx).Into(&renewed); err != nil {
		return 0, err
	}
	if s := renewed.Spec.LeaseDurationSeconds; s != nil {
		return time.Duration(*s) * time.Second, nil
	}
	return lease.Default, nil
}

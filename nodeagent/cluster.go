package nodeagent

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// FieldOwner is who a status says that it was written by.
const FieldOwner = "fettle-nodeagent"

// callLimit bounds one request.
const callLimit = 30 * time.Second

// A cluster is what of one the agent needs: news of its NodeCatalog, catalogs by name,
// a place for its status, and one to say that it is there.
type cluster struct {
	node   string
	client client.Client // uncached
	cache  cache.Cache
}

// connect makes no request yet: the kinds are known, so that nothing must be asked of
// an API server that may be away.
func connect(cfg *rest.Config, node string) (*cluster, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"NodeCatalog", "Catalog"} {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	c, err := client.New(cfg, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	mine, err := cache.New(cfg, cache.Options{
		Scheme: scheme, Mapper: mapper,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.NodeCatalog{}: {Field: fields.OneTermEqualSelector("metadata.name", node), Transform: cache.TransformStripManagedFields()},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make a cache: %w", err)
	}
	return &cluster{node: node, client: c, cache: mine}, nil
}

// watch tells of the NodeCatalog as it is and whenever it changes, until ctx ends. While
// the API server is away it is silent. The object is not to be changed.
func (c *cluster) watch(ctx context.Context, seen func(*v1alpha1.NodeCatalog)) error {
	informer, err := c.cache.GetInformer(ctx, &v1alpha1.NodeCatalog{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("cannot watch NodeCatalog %s: %w", c.node, err)
	}
	tell := func(obj any) {
		if nc, ok := obj.(*v1alpha1.NodeCatalog); ok && nc.Name == c.node {
			seen(nc)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, obj any) { tell(obj) },
	})
	if err != nil {
		return fmt.Errorf("cannot watch NodeCatalog %s: %w", c.node, err)
	}
	return c.cache.Start(ctx)
}

func (c *cluster) catalog(ctx context.Context, name string) (*v1alpha1.Catalog, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var found v1alpha1.Catalog
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, &found); err != nil {
		return nil, err
	}
	return &found, nil
}

// writeStatus writes what differs. Only the agent writes this status, so there is
// nobody to conflict with. It returns the object as it then is.
func (c *cluster) writeStatus(ctx context.Context, nc *v1alpha1.NodeCatalog, status v1alpha1.NodeCatalogStatus) (*v1alpha1.NodeCatalog, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	next := nc.DeepCopy()
	next.Status = *status.DeepCopy() // which the answer is decoded into
	if err := c.client.Status().Patch(ctx, next, client.MergeFrom(nc), client.FieldOwner(FieldOwner)); err != nil {
		return nil, err
	}
	return next, nil
}

package overview

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Client reads from a cluster with the rights of the caller. Safe for concurrent use.
type Client struct{ rest rest.Interface }

// Connect returns a client. It makes no request.
func Connect(cfg *rest.Config) (*Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // lists have many pages, and questions go to many nodes; maxAsked limits what is under way at once
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // statuses of errors
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	return &Client{client}, nil
}

// NodeCatalogs returns the NodeCatalogs of the cluster, by name.
func (c *Client) NodeCatalogs(ctx context.Context) ([]NodeCatalog, error) {
	return list[NodeCatalog](ctx, c, catalogsPath(), "application/json")
}

const nodesPath = "/api/v1/nodes"

func catalogsPath() string { return "/apis/" + v1alpha1.GroupVersion.String() + "/nodecatalogs" }

// Nodes returns the Nodes of the cluster, by name, with their NodeCatalogs; only one of them unless node is "".
func (c *Client) Nodes(ctx context.Context, node string) ([]Node, error) {
	const onlyMetadata = "application/json;as=PartialObjectMetadata%s;g=meta.k8s.io;v=v1"
	if node == "" {
		var nodes []Node
		var nodesErr error
		var reading sync.WaitGroup
		reading.Go(func() { nodes, nodesErr = list[Node](ctx, c, nodesPath, fmt.Sprintf(onlyMetadata, "List")) })
		catalogs, err := c.NodeCatalogs(ctx)
		reading.Wait()
		if err := cmp.Or(nodesErr, err); err != nil {
			return nil, err
		}
		return WithCatalogs(nodes, catalogs), nil
	}
	if faults := content.IsPathSegmentName(node); len(faults) > 0 {
		return nil, fmt.Errorf("%q is not a name of a Node: it %s", node, faults[0])
	}
	n := Node{Catalog: &NodeCatalog{}}
	if err := c.get(ctx, nodesPath+"/"+node, fmt.Sprintf(onlyMetadata, ""), &n); err != nil {
		return nil, c.suggestNode(ctx, node, fmt.Errorf("cannot get the Node %s: %w", node, err))
	}
	err := c.get(ctx, catalogsPath()+"/"+node, "application/json", n.Catalog)
	switch {
	case apierrors.IsNotFound(err):
		n.Catalog = nil
	case err != nil:
		return nil, fmt.Errorf("cannot get the NodeCatalog %s: %w", node, err)
	}
	return []Node{n}, nil
}

// WithCatalogs returns Nodes with their NodeCatalogs.
func WithCatalogs(nodes []Node, catalogs []NodeCatalog) []Node {
	byName := make(map[string]*NodeCatalog, len(catalogs))
	for i := range catalogs {
		byName[catalogs[i].Name] = &catalogs[i]
	}
	with := slices.Clone(nodes)
	for i := range with {
		with[i].Catalog = byName[with[i].Name]
	}
	return with
}

// A Kind is a kind of resources.
type Kind struct {
	schema.GroupVersionResource
	Name  string   // as File
	words []string // that kubectl accepts for it, in lower case
}

func (k Kind) path() string { return "/apis/" + k.GroupVersion().String() + "/" + k.Resource }

// Kinds returns the kinds of resources that the cluster has, built-in and external.
func (c *Client) Kinds(ctx context.Context) ([]Kind, error) {
	var kinds []Kind
	for _, gv := range []schema.GroupVersion{v1alpha1.GroupVersion, v1alpha1.ExternalGroupVersion} {
		var known metav1.APIResourceList
		if err := c.get(ctx, "/apis/"+gv.String(), "application/json", &known); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("cannot find out the kinds of %s: %w", gv, err)
		}
		for _, r := range known.APIResources {
			isResource := gv == v1alpha1.ExternalGroupVersion || v1alpha1.NewResource(r.Kind) != nil
			if isResource && !strings.Contains(r.Name, "/") {
				kinds = append(kinds, Kind{gv.WithResource(r.Name), r.Kind, append([]string{strings.ToLower(r.Kind), r.Name, r.SingularName}, r.ShortNames...)})
			}
		}
	}
	return kinds, nil
}

func (c *Client) get(ctx context.Context, at, accept string, into any) error {
	raw, err := bodyOf(c.rest.Get().AbsPath(at).SetHeader("Accept", accept).Do(ctx))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// bodyOf returns the body of a response, or the error in it. DoRaw would not decode that.
func bodyOf(res rest.Result) ([]byte, error) {
	if err := res.Error(); err != nil {
		return nil, err
	}
	return res.Raw()
}

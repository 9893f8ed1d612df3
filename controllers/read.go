package controllers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A compilation is what the last pass that compiled has found.
type compilation struct {
	result      catalog.Result
	problems    map[v1alpha1.ResourceRef][]catalog.Problem
	generations map[v1alpha1.ResourceRef]int64
	nodes       map[string]types.UID
}

func refOf(r v1alpha1.Resource) v1alpha1.ResourceRef {
	return v1alpha1.ResourceRef(r.KindName() + "/" + r.GetName())
}

// read compiles the fleet as the caches show it.
func (r *Fleet) read(ctx context.Context) error {
	nodes, uids, err := r.readNodes(ctx)
	if err != nil {
		return err
	}
	resources, err := r.readResources(ctx)
	if err != nil {
		return err
	}
	sources := r.sources.begin(r.Client, r.Live)
	result := catalog.Compile(catalog.Input{Nodes: nodes, Resources: resources, Kinds: r.Kinds, ConfigMap: sources.key(ctx)})
	r.sources.keep(sources.used)
	if sources.failed != nil {
		return sources.failed
	}
	next := newCompilation(result, resources, uids)
	r.rollout.changed(r.compiled, next)
	r.compiled = next
	return nil
}

func newCompilation(result catalog.Result, resources []v1alpha1.Resource, nodes map[string]types.UID) *compilation {
	c := &compilation{
		result: result, nodes: nodes,
		problems:    map[v1alpha1.ResourceRef][]catalog.Problem{},
		generations: map[v1alpha1.ResourceRef]int64{},
	}
	for _, p := range result.Problems {
		c.problems[p.Ref] = append(c.problems[p.Ref], p)
	}
	for _, o := range resources {
		c.generations[refOf(o)] = o.GetGeneration()
	}
	return c
}

// readNodes are the nodes that there are, with the facts that their agents reported.
func (r *Fleet) readNodes(ctx context.Context) ([]catalog.Node, map[string]types.UID, error) {
	list := metadataList("Node")
	if err := r.Client.List(ctx, list, shared()); err != nil {
		return nil, nil, fmt.Errorf("cannot list nodes: %w", err)
	}
	catalogs, err := r.nodeCatalogsByName(ctx)
	if err != nil {
		return nil, nil, err
	}
	nodes := make([]catalog.Node, 0, len(list.Items))
	uids := make(map[string]types.UID, len(list.Items))
	for i := range list.Items {
		o := &list.Items[i]
		uids[o.Name] = o.UID
		n := catalog.Node{Name: o.Name, Labels: o.Labels, Annotations: o.Annotations}
		if nc := catalogs[o.Name]; nc != nil && ownedBy(nc, o.UID) {
			n.Facts = r.facts.decode(o.Name, nc.Status.Facts)
		}
		nodes = append(nodes, n)
	}
	r.facts.keep(uids)
	return nodes, uids, nil
}

func (r *Fleet) nodeCatalogsByName(ctx context.Context) (map[string]*v1alpha1.NodeCatalog, error) {
	var list v1alpha1.NodeCatalogList
	if err := r.Client.List(ctx, &list, shared()); err != nil {
		return nil, fmt.Errorf("cannot list NodeCatalogs: %w", err)
	}
	m := make(map[string]*v1alpha1.NodeCatalog, len(list.Items))
	for i := range list.Items {
		m[list.Items[i].Name] = &list.Items[i]
	}
	return m, nil
}

// readResources are the resources of every kind, but those that are being deleted.
func (r *Fleet) readResources(ctx context.Context) ([]v1alpha1.Resource, error) {
	var all []v1alpha1.Resource
	for _, kind := range v1alpha1.Resources() {
		o, err := r.Client.Scheme().New(v1alpha1.GroupVersion.WithKind(kind.KindName() + "List"))
		if err != nil {
			return nil, fmt.Errorf("cannot list %s: %w", kind.KindName(), err)
		}
		list, ok := o.(client.ObjectList)
		if !ok {
			return nil, fmt.Errorf("cannot list %s: %T is no list", kind.KindName(), o)
		}
		if err := r.Client.List(ctx, list, shared()); err != nil {
			return nil, fmt.Errorf("cannot list %s: %w", kind.KindName(), err)
		}
		err = apimeta.EachListItem(list, func(o runtime.Object) error {
			if res, ok := o.(v1alpha1.Resource); ok && res.GetDeletionTimestamp() == nil {
				all = append(all, res)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("cannot list %s: %w", kind.KindName(), err)
		}
	}
	return all, nil
}

// ownedBy reports whether a NodeCatalog belongs to this very Node, and not to one of
// the same name that was before it.
func ownedBy(nc metav1.Object, uid types.UID) bool {
	for _, owner := range nc.GetOwnerReferences() {
		if owner.Kind == "Node" {
			return owner.UID == uid
		}
	}
	return true
}

// factsCache keeps decoded facts: most of them are as they were the last time.
type factsCache struct{ byNode map[string]decodedFacts }

type decodedFacts struct {
	raw   []byte
	facts resource.Facts
}

// decode returns nil where a node has reported no facts, or none that are an object.
func (c *factsCache) decode(node string, raw *runtime.RawExtension) resource.Facts {
	if raw == nil || len(raw.Raw) == 0 {
		return nil
	}
	if known, ok := c.byNode[node]; ok && bytes.Equal(known.raw, raw.Raw) {
		return known.facts
	}
	var facts resource.Facts
	if err := json.Unmarshal(raw.Raw, &facts); err != nil {
		facts = nil // then it has said nothing that could be understood
	}
	if c.byNode == nil {
		c.byNode = map[string]decodedFacts{}
	}
	c.byNode[node] = decodedFacts{raw.Raw, facts}
	return facts
}

func (c *factsCache) keep(nodes map[string]types.UID) {
	for name := range c.byNode {
		if _, ok := nodes[name]; !ok {
			delete(c.byNode, name)
		}
	}
}

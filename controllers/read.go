package controllers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A compilation is what the last pass that compiled has found.
type compilation struct {
	result    compiler.Result
	problems  map[v1alpha1.ResourceRef][]compiler.Problem
	resources revisions
	// finalized are the resources whose deletion waits for nodes, be it under way or not.
	finalized map[v1alpha1.ResourceRef]types.UID
	// confirmed are the words that deselections are confirmed with, by resource.
	confirmed map[v1alpha1.ResourceRef]string
	nodes     map[string]types.UID
}

// read compiles the fleet as the caches show it.
func (r *Fleet) read(ctx context.Context, catalogs nodeCatalogs) error {
	nodes, uids, err := r.readNodes(ctx, catalogs)
	if err != nil {
		return err
	}
	resources, leaving, err := r.readResources(ctx)
	if err != nil {
		return err
	}
	sources := r.sources.begin(r.Client, r.Live)
	secrets := r.secrets.begin(ctx, r.Client)
	seals := sealer{secrets: secrets, compiled: r.compiled, existing: catalogs}
	result := r.compiler.Compile(compiler.Input{
		Nodes: nodes, Resources: resources, Kinds: r.Kinds, ConfigMap: sources.key(ctx), Secret: secrets.value, Seal: seals.seal,
	})
	r.sources.keep(sources.used)
	r.secrets.keep(secrets)
	if err := errors.Join(sources.failed, secrets.failed); err != nil {
		return err
	}
	next := newCompilation(result, resources, uids, r.compiled)
	next.finalized = finalizedAmong(resources, leaving)
	r.uninstallation.suspect(r.compiled, next)
	if r.compiled != nil {
		r.rollout.changed(r.compiled, next)
	} else {
		r.deselection.first = observed(resources)
	}
	r.compiled = next
	return nil
}

func newCompilation(result compiler.Result, resources []v1alpha1.Resource, nodes map[string]types.UID, before *compilation) *compilation {
	c := &compilation{
		result: result, nodes: nodes,
		problems:  map[v1alpha1.ResourceRef][]compiler.Problem{},
		confirmed: map[v1alpha1.ResourceRef]string{},
	}
	for _, p := range result.Problems {
		c.problems[p.Ref] = append(c.problems[p.Ref], p)
	}
	var was revisions
	if before != nil {
		was = before.resources
	}
	c.resources = revisionsOf(resources, was)
	for _, o := range resources {
		if word, ok := o.GetAnnotations()[v1alpha1.AnnotationConfirmDeselection]; ok {
			c.confirmed[v1alpha1.RefOf(o)] = word
		}
	}
	return c
}

// readNodes are the nodes that there are, with the facts that their agents reported.
func (r *Fleet) readNodes(ctx context.Context, catalogs nodeCatalogs) ([]compiler.Node, map[string]types.UID, error) {
	list := metadataList("Node")
	if err := r.Client.List(ctx, list, shared()); err != nil {
		return nil, nil, fmt.Errorf("cannot list nodes: %w", err)
	}
	nodes := make([]compiler.Node, 0, len(list.Items))
	uids := make(map[string]types.UID, len(list.Items))
	for i := range list.Items {
		o := &list.Items[i]
		uids[o.Name] = o.UID
		n := compiler.Node{Name: o.Name, Labels: o.Labels, Annotations: o.Annotations}
		if nc := catalogs[o.Name]; nc != nil && ownedBy(nc, o.UID) {
			n.Facts, n.FactsKey = r.facts.of(o.Name, nc.Status.Facts)
			n.PublicKey = nc.Status.PublicKey
		}
		nodes = append(nodes, n)
	}
	r.facts.keep(uids)
	return nodes, uids, nil
}

// nodeCatalogs by the name of their node. They are the cache's own, never to be changed.
type nodeCatalogs map[string]*v1alpha1.NodeCatalog

func (r *Fleet) nodeCatalogsByName(ctx context.Context) (nodeCatalogs, error) {
	var list v1alpha1.NodeCatalogList
	if err := r.Client.List(ctx, &list, shared()); err != nil {
		return nil, fmt.Errorf("cannot list NodeCatalogs: %w", err)
	}
	m := make(nodeCatalogs, len(list.Items))
	for i := range list.Items {
		m[list.Items[i].Name] = &list.Items[i]
	}
	return m, nil
}

// readResources are the resources of every kind: those that nodes are to have, and those
// that are being deleted.
func (r *Fleet) readResources(ctx context.Context) (live, leaving []v1alpha1.Resource, err error) {
	for _, kind := range v1alpha1.Resources() {
		list, err := r.listCached(ctx, kind.KindName())
		if err != nil {
			return nil, nil, fmt.Errorf("cannot list %s: %w", kind.KindName(), err)
		}
		err = apimeta.EachListItem(list, func(o runtime.Object) error {
			if res, ok := o.(v1alpha1.Resource); ok && res.GetDeletionTimestamp() == nil {
				live = append(live, res)
			} else if ok {
				leaving = append(leaving, res)
			}
			return nil
		})
		if err != nil {
			return nil, nil, fmt.Errorf("cannot list %s: %w", kind.KindName(), err)
		}
	}
	return live, leaving, nil
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

func nodeAsOwner(name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: uid}}
}

// factsCache knows which facts are as they were the last time. It keeps none decoded: most
// of what nodes tell is never asked for.
type factsCache struct{ byNode map[string]knownFacts }

type knownFacts struct {
	raw []byte
	key string
}

// of returns a function that decodes what a node has reported, to nil where that is no
// object, and a key that changes with it; nil and "" where it has reported nothing.
func (c *factsCache) of(node string, raw *runtime.RawExtension) (func() resource.Facts, string) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, ""
	}
	known := c.byNode[node]
	if !bytes.Equal(known.raw, raw.Raw) {
		sum := sha256.Sum256(raw.Raw)
		known.key = string(sum[:])
	}
	known.raw = raw.Raw // the cache's, so that the one before it can go
	if c.byNode == nil {
		c.byNode = map[string]knownFacts{}
	}
	c.byNode[node] = known
	return func() (facts resource.Facts) {
		if json.Unmarshal(raw.Raw, &facts) != nil {
			return nil // then it has said nothing that could be understood
		}
		return facts
	}, known.key
}

func (c *factsCache) keep(nodes map[string]types.UID) {
	for name := range c.byNode {
		if _, ok := nodes[name]; !ok {
			delete(c.byNode, name)
		}
	}
}

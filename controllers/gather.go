package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/acting"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
)

// A snapshot is what the caches hold when a reconciliation begins. Its objects are the
// caches' own and must not be changed.
type snapshot struct {
	nodes        map[string]*corev1.Node
	nodeCatalogs map[string]*v1alpha1.NodeCatalog // of existing nodes only, by name
	catalogs     map[string]*v1alpha1.Catalog
	policies     []*v1alpha1.RolloutPolicy
	revisions    map[string]*v1alpha1.CatalogRevision
	live         map[v1alpha1.ResourceRef]v1alpha1.Resource // of all kinds
	deleting     []v1alpha1.Resource
	external     *externalkinds.Snapshot
	fleet        *v1alpha1.Fleet // nil if there is none
}

// A gatherer reads the caches.
type gatherer struct {
	client   client.Client
	external *externalkinds.Kinds
}

func (g gatherer) gather(ctx context.Context, now time.Time) (*snapshot, error) {
	nodes, catalogs, nodeCatalogs, fleets := &corev1.NodeList{}, &v1alpha1.CatalogList{}, &v1alpha1.NodeCatalogList{}, &v1alpha1.FleetList{}
	policies, revisions := &v1alpha1.RolloutPolicyList{}, &v1alpha1.CatalogRevisionList{}
	for _, list := range []client.ObjectList{nodes, catalogs, nodeCatalogs, fleets, policies, revisions} {
		if err := g.list(ctx, list); err != nil {
			return nil, err
		}
	}
	s := &snapshot{nodes: byName(nodes.Items), catalogs: byName(catalogs.Items), revisions: byName(revisions.Items), live: map[v1alpha1.ResourceRef]v1alpha1.Resource{}}
	for i := range policies.Items {
		s.policies = append(s.policies, &policies.Items[i])
	}
	for i := range fleets.Items {
		s.fleet = &fleets.Items[i] // there is only one
	}
	// The garbage collector deletes the NodeCatalog of a Node that is gone or was replaced.
	s.nodeCatalogs = byName(nodeCatalogs.Items)
	maps.DeleteFunc(s.nodeCatalogs, func(name string, nc *v1alpha1.NodeCatalog) bool {
		return s.nodes[name] == nil || !ownedBy(nc, s.nodes[name].UID)
	})
	return s, g.gatherResources(ctx, s, now)
}

// byName returns the items of a list by name, which share its memory.
func byName[T any, O interface {
	*T
	metav1.Object
}](items []T) map[string]O {
	all := make(map[string]O, len(items))
	for i := range items {
		o := O(&items[i])
		all[o.GetName()] = o
	}
	return all
}

func (g gatherer) gatherResources(ctx context.Context, s *snapshot, now time.Time) error {
	for _, kind := range v1alpha1.Resources() {
		list, err := g.client.Scheme().New(v1alpha1.GroupVersion.WithKind(kind.KindName() + "List"))
		if err == nil {
			err = g.list(ctx, list.(client.ObjectList))
		}
		if err == nil {
			err = apimeta.EachListItem(list, func(o runtime.Object) error {
				s.add(o.(v1alpha1.Resource))
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("cannot gather resources of kind %s: %w", kind.KindName(), err)
		}
	}
	external, err := g.external.Follow(ctx, now)
	if err != nil {
		return fmt.Errorf("cannot gather resources of external types: %w", err)
	}
	s.external = external
	for _, res := range external.Resources {
		s.add(res)
	}
	return nil
}

func (s *snapshot) add(res v1alpha1.Resource) {
	if res.GetDeletionTimestamp() == nil {
		s.live[v1alpha1.RefOf(res)] = res
	} else {
		s.deleting = append(s.deleting, res)
	}
}

func (g gatherer) list(ctx context.Context, list client.ObjectList) error {
	return wrap(g.client.List(ctx, list, client.UnsafeDisableDeepCopy), fmt.Sprintf("cannot list %T", list))
}

// removals returns the resources of Remote types that nodes are to remove because they are being deleted.
func (s *snapshot) removals() (all []v1alpha1.Resource) {
	for _, o := range s.deleting {
		if e, ok := o.(*v1alpha1.External); ok && s.isRemoval(o) {
			all = append(all, acting.Removal(e))
		}
	}
	return all
}

// isRemoval reports whether a resource that is being deleted stays in catalogs, as absent.
func (s *snapshot) isRemoval(o v1alpha1.Resource) bool {
	_, remote := s.external.Remote(o.KindName())
	return remote && o.GetTargeting().DeletionPolicy == v1alpha1.DeletionDelete &&
		controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) && o.GetAnnotations()[v1alpha1.AnnotationAbandonCleanup] != "true"
}

// isRemote reports whether one node acts for a resource.
func (s *snapshot) isRemote(ref v1alpha1.ResourceRef) bool {
	kind, _, _ := strings.Cut(string(ref), "/")
	_, remote := s.external.Remote(kind)
	return remote
}

// entries returns a function that returns what Catalogs contain, by name: those of a compilation, which may be nil, and those that the
// cluster has from earlier ones.
func (s *snapshot) entries(of *compilation) func(name string) []v1alpha1.CatalogEntry {
	return func(name string) []v1alpha1.CatalogEntry {
		if of != nil && of.Catalogs[name] != nil {
			return of.Catalogs[name].Entries
		}
		if c := s.catalogs[name]; c != nil {
			return c.Entries
		}
		return nil
	}
}

// kindNames returns the kinds whose resources are known.
func (s *snapshot) kindNames() []string {
	names := slices.Sorted(maps.Keys(s.external.External))
	for _, o := range v1alpha1.Resources() {
		names = append(names, o.KindName())
	}
	return names
}

// exists reports whether there is a Node.
func (s *snapshot) exists(node string) bool { return s.nodes[node] != nil }

// ownedBy reports whether an object belongs to this very Node, and not to a former one of the
// same name.
func ownedBy(o metav1.Object, uid types.UID) bool {
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == "Node" {
			return owner.UID == uid
		}
	}
	return true
}

func nodeAsOwner(node *corev1.Node) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
}

// Package caches says what the caches of a manager leave out.
package caches

import (
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
)

// Options returns the options of the manager that runs a fleet. They leave out of the caches what no
// reconciliation reads: managed fields, most of Nodes, the data of ConfigMaps and definitions, Secrets that are not exposed to
// nodes, the attributes in Catalogs, the Leases of other namespaces.
func Options() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Transform: stripMetadata},
			&corev1.Secret{}: {
				Label:     labels.SelectorFromSet(labels.Set{v1alpha1.LabelExposeToNodes: "true"}),
				Transform: stripAnnotations,
			},
			&corev1.Node{}:                     {Transform: stripNode},
			&v1alpha1.Catalog{}:                {Transform: stripAttributes},
			externalkinds.DefinitionMetadata(): {Transform: stripMetadata},
			&coordinationv1.Lease{}:            {Transform: stripLease, Namespaces: map[string]cache.Config{v1alpha1.AgentNamespace: {}}},
		},
	}
}

// stripAnnotations removes what kubectl may have copied of an object's data, too.
func stripAnnotations(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil { // a tombstone has no metadata
		m.SetManagedFields(nil)
		m.SetAnnotations(nil)
	}
	return o, nil
}

func stripMetadata(o any) (any, error) {
	o, err := stripAnnotations(o)
	if m, missing := meta.Accessor(o); missing == nil {
		m.SetLabels(nil)
	}
	return o, err
}

// stripAttributes leaves only the references of entries: what they contain is compiled anew, and
// never read back.
func stripAttributes(o any) (any, error) {
	if c, ok := o.(*v1alpha1.Catalog); ok {
		c.ManagedFields = nil
		for i, e := range c.Entries {
			c.Entries[i] = v1alpha1.CatalogEntry{Kind: e.Kind, Name: e.Name}
		}
	}
	return o, nil
}

// stripNode leaves what selectors and expressions see, and what tells whether the Node is well: its taints, and whether it is Ready.
func stripNode(o any) (any, error) {
	if n, ok := o.(*corev1.Node); ok {
		n.ManagedFields, n.Spec = nil, corev1.NodeSpec{Taints: n.Spec.Taints}
		conditions := slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type != corev1.NodeReady })
		n.Status = corev1.NodeStatus{Conditions: slices.Clone(conditions)}
	}
	return o, nil
}

func stripLease(o any) (any, error) {
	if l, ok := o.(*coordinationv1.Lease); ok {
		l.ObjectMeta = metav1.ObjectMeta{
			Namespace: l.Namespace, Name: l.Name, UID: l.UID, ResourceVersion: l.ResourceVersion,
			CreationTimestamp: l.CreationTimestamp, OwnerReferences: l.OwnerReferences,
		}
		l.Spec = coordinationv1.LeaseSpec{RenewTime: l.Spec.RenewTime, LeaseDurationSeconds: l.Spec.LeaseDurationSeconds}
	}
	return o, nil
}

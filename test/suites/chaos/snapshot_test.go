//go:build rare

package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/seal"
	"github.com/fettle-dev/fettle/providers"
)

// A snapshot is the state of a cluster at one moment.
type snapshot struct {
	nodes        corev1.NodeList
	files        v1alpha1.FileList
	shared       corev1.ConfigMap
	password     corev1.Secret
	nodeCatalogs map[string]*v1alpha1.NodeCatalog // by node
	leases       map[string]types.UID             // by node
	catalogs     map[string]*v1alpha1.Catalog
}

func (f *fixture) takeSnapshot(ctx context.Context) (*snapshot, error) {
	s := &snapshot{nodeCatalogs: map[string]*v1alpha1.NodeCatalog{}, leases: map[string]types.UID{}, catalogs: map[string]*v1alpha1.Catalog{}}
	var nodeCatalogs v1alpha1.NodeCatalogList
	var leases coordinationv1.LeaseList
	var catalogs v1alpha1.CatalogList
	err := errors.Join(
		f.admin.List(ctx, &s.nodes), f.admin.List(ctx, &s.files), f.admin.List(ctx, &nodeCatalogs), f.admin.List(ctx, &catalogs),
		f.admin.List(ctx, &leases, client.InNamespace(v1alpha1.AgentNamespace)),
		f.admin.Get(ctx, types.NamespacedName{Namespace: "default", Name: "shared"}, &s.shared),
		f.admin.Get(ctx, types.NamespacedName{Namespace: "default", Name: "password"}, &s.password),
	)
	for i := range nodeCatalogs.Items {
		s.nodeCatalogs[nodeCatalogs.Items[i].Name] = &nodeCatalogs.Items[i]
	}
	for i := range leases.Items {
		s.leases[leases.Items[i].Name] = leases.Items[i].UID
	}
	for i := range catalogs.Items {
		s.catalogs[catalogs.Items[i].Name] = &catalogs.Items[i]
	}
	return s, err
}

// compile returns the result of a new compiler for the cluster's state. It keeps values that are already sealed correctly,
// because sealing is not deterministic.
func (s *snapshot) compile() compiler.Result {
	in := compiler.Input{
		Kinds: providers.Kinds(),
		ConfigMap: func(ref v1alpha1.KeyRef) (string, bool) {
			value, ok := s.shared.Data[ref.Key]
			return value, ok
		},
		Secret: func(ref v1alpha1.KeyRef) compiler.SecretValue {
			value, ok := s.password.Data[ref.Key]
			return compiler.SecretValue{Exposed: true, Found: ok, Value: value, Version: s.password.ResourceVersion}
		},
		Seal: s.sealValue,
	}
	for i := range s.nodes.Items {
		o := &s.nodes.Items[i]
		n := compiler.Node{Name: o.Name, Labels: o.Labels, Annotations: o.Annotations}
		if nc := s.nodeCatalogs[o.Name]; nc != nil {
			n.PublicKey = nc.Status.PublicKey
			if nc.Status.Facts != nil {
				n.FactsKey, n.Facts = "told", func() (facts resource.Facts) {
					_ = json.Unmarshal(nc.Status.Facts.Raw, &facts) // nil has no facts
					return facts
				}
			}
		}
		in.Nodes = append(in.Nodes, n)
	}
	for i := range s.files.Items {
		in.Resources = append(in.Resources, &s.files.Items[i])
	}
	return compiler.Compile(in)
}

func (s *snapshot) sealValue(n *compiler.Node, ref v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
	want := v1alpha1.SealedValue{Attribute: attribute, From: from, Key: seal.Fingerprint(n.PublicKey), Value: []byte("yet to be sealed")}
	if nc := s.nodeCatalogs[n.Name]; nc != nil {
		for _, e := range nc.Spec.Entries {
			for _, v := range e.Sealed {
				if e.Ref() == ref && v.Attribute == attribute && v.From == want.From && v.Key == want.Key {
					return v, nil
				}
			}
		}
	}
	return want, nil
}

// pendingReason returns a step that the cluster has not finished, or "".
func (s *snapshot) pendingReason(want compiler.Result) string {
	for node, n := range want.Nodes {
		nc := s.nodeCatalogs[node]
		switch {
		case nc == nil:
			return "there is no NodeCatalog " + node
		case s.leases[node] == "":
			return "there is no Lease " + node
		case catalog.Digest(nc.Spec) != n.Digest, !slices.Equal(nc.Spec.Withheld, n.Spec.Withheld):
			return fmt.Sprintf("NodeCatalog %s is another (-want +got):\n%s", node, cmp.Diff(n.Spec, nc.Spec))
		case nc.Status.AppliedDigest != n.Digest || nc.Status.AppliedGeneration != nc.Generation || nc.Status.ObservedGeneration != nc.Generation:
			return fmt.Sprintf("node %s has applied generation %d of %d", node, nc.Status.AppliedGeneration, nc.Generation)
		}
	}
	for name := range want.Catalogs {
		if s.catalogs[name] == nil {
			return "there is no Catalog " + name
		}
	}
	for i := range s.files.Items {
		o := &s.files.Items[i]
		nodes := int32(len(want.Selected[v1alpha1.ResourceRef("File/"+o.Name)]))
		ready := meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionReady) && o.Status.ObservedGeneration == o.Generation
		if n := o.Status.Nodes; !ready || n == nil || *n != (v1alpha1.NodeCounts{Selected: nodes, InSync: nodes}) {
			return fmt.Sprintf("File %s, which selects %d nodes, has status %+v", o.Name, nodes, o.Status)
		}
	}
	return ""
}

// awaitConvergence waits for the desired state and returns it.
func (f *fixture) awaitConvergence(t *testing.T) (*snapshot, compiler.Result) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var why string
	for {
		began := time.Now()
		s, err := f.takeSnapshot(ctx)
		if err == nil {
			want := s.compile()
			if why = s.pendingReason(want); why == "" {
				return s, want
			}
		}
		if wait(ctx, 200*time.Millisecond+3*time.Since(began)); ctx.Err() != nil { // polling must not keep the cluster busy
			t.Fatalf("after %s: %s (%v)", limit, why, err)
		}
	}
}

// identities returns the UIDs of objects that must never be deleted.
func (s *snapshot) identities() map[string]types.UID {
	all := map[string]types.UID{}
	for node, nc := range s.nodeCatalogs {
		all["NodeCatalog "+node] = nc.UID
	}
	for node, uid := range s.leases {
		all["Lease "+node] = uid
	}
	return all
}

// generations returns the generations of the NodeCatalogs.
func (s *snapshot) generations() map[string]int64 {
	all := map[string]int64{}
	for node, nc := range s.nodeCatalogs {
		all[node] = nc.Generation
	}
	return all
}

// sealedValues returns all sealed values, by node and resource.
func (s *snapshot) sealedValues() map[string]string {
	all := map[string]string{}
	for node, nc := range s.nodeCatalogs {
		for _, e := range nc.Spec.Entries {
			for _, v := range e.Sealed {
				all[node+" "+string(e.Ref())] = string(v.Value)
			}
		}
	}
	return all
}

// desiredFiles returns the desired files of each host, by path.
func (s *snapshot) desiredFiles(t *testing.T, want compiler.Result) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	for node, n := range want.Nodes {
		entries, _, err := catalog.Assemble(n.Spec, func(name string) (*v1alpha1.Catalog, error) { return want.Catalogs[name], nil })
		must(t, err)
		all[node] = map[string]string{}
		for _, e := range entries {
			var a attributes
			must(t, json.Unmarshal(e.Attributes.Raw, &a))
			if len(e.Sealed) > 0 {
				a.Content = new(string(s.password.Data["content"]))
			}
			all[node][a.Path] = *a.Content
		}
	}
	return all
}

// writeCounts counts the writes of each file of each host.
func (f *fixture) writeCounts() map[string]map[string]int {
	all := map[string]map[string]int{}
	for node, m := range f.machines {
		all[node] = m.writeCounts()
	}
	return all
}

// checkEqual fails the test unless two values are equal.
func checkEqual[M ~map[K]V, K, V comparable](t *testing.T, what string, want, got M) {
	t.Helper()
	if !maps.Equal(want, got) {
		t.Errorf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}

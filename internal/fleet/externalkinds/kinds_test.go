package externalkinds_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
)

func zoneType() *v1alpha1.ExternalType {
	t := &v1alpha1.ExternalType{ObjectMeta: metav1.ObjectMeta{Name: "dnszones", Generation: 1}}
	t.Spec = v1alpha1.ExternalTypeSpec{
		Kind: "DNSZone", Version: "1", Description: "A zone of a DNS service.",
		Attributes: []v1alpha1.ExternalAttribute{{
			Name: "name", Description: "The name of the zone.", Behaviour: v1alpha1.BehaviourNamevar,
			Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string"}`)},
		}},
		Providers: []v1alpha1.ExternalProvider{{Name: "python", Command: []string{"./main.py"}}},
		Source:    v1alpha1.ExternalSource{Files: map[string]string{"main.py": "#!/usr/bin/python3\n"}},
	}
	return t
}

// zones returns the definition of DNSZone, established.
func zones(t *testing.T, adjust ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	d, err := definition.New(zoneType())
	if err != nil {
		t.Fatal(err)
	}
	crd, err := crdbuild.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	crd.UID = "1"
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	for _, a := range adjust {
		a(crd)
	}
	return crd
}

func zone(name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(v1alpha1.ExternalGroupVersion.WithKind("DNSZone"))
	u.SetName(name)
	u.SetUID(types.UID(name))
	return u
}

func everyNode() map[string]any { return map[string]any{"nodeSelector": map[string]any{}} }

// cluster returns a client of a cluster with objects.
func cluster(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	gvk := v1alpha1.ExternalGroupVersion.WithKind("DNSZone")
	scheme.AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(gvk.GroupVersion().WithKind("DNSZoneList"), &unstructured.UnstructuredList{})
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func follow(t *testing.T, k *externalkinds.Kinds) *externalkinds.Snapshot {
	t.Helper()
	s, err := k.Follow(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refs returns the resources of a snapshot.
func refs(s *externalkinds.Snapshot) (all []v1alpha1.ResourceRef) {
	for _, r := range s.Resources {
		all = append(all, v1alpha1.RefOf(r))
	}
	return all
}

func TestAnUnusableDefinitionSetsACondition(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   string
	}{
		"it is not served": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Status.Conditions = nil }, "is not established yet: apply"},
		"the API server does not accept its names": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionFalse, Message: "DNSZone is already in use"}}
		}, "is not established: DNSZone is already in use: apply"},
		"it has namespaces":           {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Scope = apiextensionsv1.NamespaceScoped }, "has the scope Namespaced instead of Cluster: apply"},
		"it has another version":      {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Name = "v1" }, "does not serve the version v1alpha1: apply"},
		"it has no status":            {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Subresources = nil }, "has no status subresource: apply"},
		"its kind is a built-in kind": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Names.Kind = "File" }, "has the kind File, which is built in: apply"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, zoneType(), zones(t, tt.change), zone("example", everyNode()))
			s := follow(t, &externalkinds.Kinds{Cached: c, Live: c})
			status, outdated := s.Types[0].Outdated()
			if !outdated || len(status.Conditions) != 2 {
				t.Fatalf("got %+v, %t", status, outdated)
			}
			ready := status.Conditions[0]
			if ready.Reason != v1alpha1.ReasonMissingDefinition || !strings.Contains(ready.Message, tt.want) {
				t.Errorf("got %s: %s, want %q", ready.Reason, ready.Message, tt.want)
			}
			if len(s.Resources) > 0 || !s.Lost("DNSZone/example") || s.Lost("File/a") {
				t.Errorf("resources %v, DNSZone/example lost: %t, File/a lost: %t", refs(s), s.Lost("DNSZone/example"), s.Lost("File/a"))
			}
		})
	}
}

func TestADefinitionOfAnotherVersionOfFettleMatches(t *testing.T) {
	t.Parallel()

	c := cluster(t, zoneType(), zone("example", everyNode()), zones(t, func(c *apiextensionsv1.CustomResourceDefinition) {
		root := c.Spec.Versions[0].Schema.OpenAPIV3Schema
		spec := root.Properties["spec"]
		delete(spec.Properties, "schedule")
		ensure := spec.Properties["ensure"]
		ensure.Description = "In other words."
		spec.Properties["ensure"] = ensure
	}))
	if s := follow(t, &externalkinds.Kinds{Cached: c, Live: c}); s.External["DNSZone"].Fault != nil {
		t.Errorf("got %+v", s.External["DNSZone"].Fault)
	}
}

func TestAResourceThatCannotBeDecodedIsNotDeleted(t *testing.T) {
	t.Parallel()

	c := cluster(t, zoneType(), zones(t), zone("good", everyNode()), zone("bad", map[string]any{"nodeSelector": "all"}))
	s := follow(t, &externalkinds.Kinds{Cached: c, Live: c})
	if diff := cmp.Diff([]v1alpha1.ResourceRef{"DNSZone/good"}, refs(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !s.Lost("DNSZone/bad") || s.Lost("DNSZone/good") || s.Lost("DNSZone/deleted") {
		t.Errorf("lost: bad %t, good %t, deleted %t", s.Lost("DNSZone/bad"), s.Lost("DNSZone/good"), s.Lost("DNSZone/deleted"))
	}
}

func TestResourcesVanishWithTheirDefinition(t *testing.T) {
	t.Parallel()

	for name, goes := range map[string]bool{"the definition stays": false, "the definition goes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, zoneType(), zones(t), zone("example", everyNode()))
			var outage error
			live := interceptor.NewClient(cluster(t, zones(t)), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if outage != nil {
						return outage
					}
					return c.Get(ctx, key, o, opts...)
				},
			})
			k := &externalkinds.Kinds{Cached: c, Live: live}
			if got := refs(follow(t, k)); len(got) != 1 {
				t.Fatalf("got %v", got)
			}
			if err := c.Delete(t.Context(), zone("example", nil)); err != nil {
				t.Fatal(err)
			}
			outage = errors.New("connection refused")
			if _, err := k.Follow(t.Context(), now); !errors.Is(err, outage) {
				t.Fatalf("got %v, want %v", err, outage)
			}
			outage = nil
			if goes { // the metadata in the cache do not show it yet
				if err := live.Delete(t.Context(), zones(t)); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if s := follow(t, k); s.Lost("DNSZone/example") != goes {
					t.Errorf("lost: %t, want %t", s.Lost("DNSZone/example"), goes)
				}
			}
		})
	}
}

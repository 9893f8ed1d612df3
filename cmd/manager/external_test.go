package main_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// zoneType is in the form of users.
const zoneType = `
metadata: {name: dnszones}
spec:
  kind: DNSZone
  version: "1"
  description: A zone of a DNS service.
  attributes:
    - {name: name, description: The name of the zone., behaviour: Namevar, schema: {type: string}}
  providers:
    - {name: python, command: [./main.py]}
  source:
    files: {main.py: "#!/usr/bin/python3\n"}
`

func TestUninstallingReleasesResourcesOfExternalTypes(t *testing.T) {
	t.Parallel()

	c := newCluster(t)
	go c.deleteNamespaces(t.Context())
	zone := c.addZone()
	manager := c.start("fettle-manager")
	finalizers := func() []string {
		if err := c.admin.Get(t.Context(), client.ObjectKeyFromObject(zone), zone); err != nil {
			t.Fatal(err)
		}
		return zone.GetFinalizers()
	}
	eventually(t, "a finalizer", func() bool { return len(finalizers()) == 1 })
	deleted := c.delete("-k", overlay(t, "", "rbac", "manager"))
	eventually(t, "the ServiceAccount to be deleted", func() bool { return c.deleting("fettle-manager") })
	terminate(manager)
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	<-manager.ended
	c.expectNoFinalizers()
	if got := finalizers(); len(got) > 0 {
		t.Errorf("DNSZone example has the finalizers %q", strings.Join(got, ", "))
	}
}

// addZone creates a node, an external type with its definition, and a resource of it whose deletion waits for nodes.
func (c *cluster) addZone() *unstructured.Unstructured {
	c.Helper()
	e := &v1alpha1.ExternalType{}
	if err := yaml.UnmarshalStrict([]byte(zoneType), e); err != nil {
		c.Fatal(err)
	}
	d, err := definition.New(e)
	if err != nil {
		c.Fatal(err)
	}
	crd, err := crdbuild.Build(d)
	if err != nil {
		c.Fatal(err)
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		c.Fatal(err)
	}
	made := &unstructured.Unstructured{Object: raw}
	made.SetAPIVersion("apiextensions.k8s.io/v1")
	made.SetKind("CustomResourceDefinition")
	for _, o := range []client.Object{made, e, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}} {
		if err := c.admin.Create(c.Context(), o); err != nil {
			c.Fatal(err)
		}
	}
	zone := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"nodeSelector": map[string]any{}, "deletionPolicy": "Delete"}}}
	zone.SetGroupVersionKind(v1alpha1.ExternalGroupVersion.WithKind("DNSZone"))
	zone.SetName("example")
	eventually(c.T, "the kind to be served", func() bool { return c.admin.Create(c.Context(), zone) == nil })
	return zone
}

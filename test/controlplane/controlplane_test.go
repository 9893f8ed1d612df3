package controlplane_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/discovery"

	"github.com/fettle-dev/fettle/config/crd"
	"github.com/fettle-dev/fettle/test/controlplane"
)

func TestTheControlPlaneServesEveryKind(t *testing.T) {
	cfg, stop := controlplane.Start(t)

	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.ServerResourcesForGroupVersion("fettle.dev/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]string{}
	for _, r := range list.APIResources {
		served[r.Name] = r.Kind
	}

	all, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, c := range all {
		names := c.Spec.Names
		want[names.Plural] = names.Kind
		if s := c.Spec.Versions[0].Subresources; s != nil && s.Status != nil {
			want[names.Plural+"/status"] = names.Kind
		}
	}
	if diff := cmp.Diff(want, served); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}

	stop()
	if _, err := client.ServerVersion(); err == nil {
		t.Error("it still answers after stop")
	}
}

package skew_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/providers"
)

// The recorded objects are from the older version, after its first change. FETTLE_SKEW_RECORD=1 records them again
// during TestVersionsWorkTogether.
const recordedCatalogs, recordedNode = "testdata/catalogs.yaml", "testdata/nodecatalog.yaml"

func TestAgentUnderstandsWhatAnOlderManagerPublished(t *testing.T) {
	var catalogs v1alpha1.CatalogList
	var nc v1alpha1.NodeCatalog
	decode(t, recordedCatalogs, &catalogs)
	decode(t, recordedNode, &nc)

	entries, digest, err := catalog.Assemble(nc.Spec, func(name string) (*v1alpha1.Catalog, error) {
		for i := range catalogs.Items {
			if c := &catalogs.Items[i]; c.Name == name {
				return c, catalog.Verify(name, c)
			}
		}
		t.Fatalf("%s is not recorded", name)
		return nil, nil
	})
	must(t, err)
	if digest != nc.Status.AppliedDigest {
		t.Errorf("the digest is %s; the older agent applied %s", digest, nc.Status.AppliedDigest)
	}
	var refs []string
	for _, item := range catalog.Items(entries, providers.Kinds(), func(v1alpha1.ResourceRef, v1alpha1.SealedValue) ([]byte, error) { return []byte("sealed\n"), nil }) {
		refs = append(refs, item.Ref.String())
		if item.Invalid != nil {
			t.Errorf("%s: %v", item.Ref, item.Invalid)
		}
	}
	if got, want := strings.Join(refs, " "), "Exec/steady File/steady File/steady-sealed"; got != want {
		t.Errorf("the node has %s, want %s", got, want)
	}
}

// Fields that are removed or renamed would be lost here.
func TestManagerUnderstandsTheStatusOfAnOlderAgent(t *testing.T) {
	var nc v1alpha1.NodeCatalog
	decode(t, recordedNode, &nc)
	s := nc.Status
	if s.AppliedGeneration != s.ObservedGeneration || s.PublicKey == "" || s.Facts == nil || s.Counts == nil || s.Counts.Total != 3 || s.Counts.InSync != 3 {
		t.Errorf("the status is %+v", s)
	}
}

// decode decodes a recorded object, and fails if this version lacks one of its fields.
func decode(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, yaml.UnmarshalStrict(text, into))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

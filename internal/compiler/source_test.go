package compiler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
)

func keyRef(name, key string) *v1alpha1.KeyRef {
	return &v1alpha1.KeyRef{Namespace: "ops", Name: name, Key: key}
}

func caFrom(from v1alpha1.ValueSource) func(*v1alpha1.File) {
	source := "https://example.com/a"
	return func(f *v1alpha1.File) { f.Spec.Source, f.Spec.CAFrom = &source, &from }
}

// bundles returns the key pem of the ConfigMap ops/ca, and no other.
func bundles(ref v1alpha1.KeyRef) (string, bool) {
	return "a certificate", ref == *keyRef("ca", "pem")
}

func withBundles(resources ...v1alpha1.Resource) compiler.Input {
	return compiler.Input{Nodes: []compiler.Node{node("web-1", "web")}, Resources: resources, Kinds: kinds(), ConfigMap: bundles, Secret: secrets, Seal: sealing}
}

// entryOf returns the only entry of a node.
func entryOf(t *testing.T, r compiler.Result) v1alpha1.CatalogEntry {
	t.Helper()
	entries, _, err := catalog.Assemble(r.Nodes["web-1"].Spec, func(name string) (*v1alpha1.Catalog, error) { return r.Catalogs[name], nil })
	if err != nil || len(entries) != 1 {
		t.Fatalf("got %v, %v, problems %v", entries, err, r.Problems)
	}
	return entries[0]
}

func TestCertificatesOfAConfigMapAreInASharedCatalog(t *testing.T) {
	t.Parallel()

	a := file("a", "/a", on("web"), caFrom(v1alpha1.ValueSource{ConfigMapKeyRef: keyRef("ca", "pem")}))
	result := compiler.Compile(withBundles(a))
	e := entryOf(t, result)
	if got, want := string(e.Attributes.Raw), `{"ca":"a certificate","path":"/a","source":"https://example.com/a"}`; got != want || len(e.Sealed) > 0 || len(result.Catalogs) != 1 {
		t.Errorf("got %s, %d sealed, %d shared catalogs", got, len(e.Sealed), len(result.Catalogs))
	}
	if a.Spec.CA != nil {
		t.Error("the resource itself has changed")
	}
}

func TestCertificatesOfAConfigMapCombineWithHeadersOfASecret(t *testing.T) {
	t.Parallel()

	e := entryOf(t, compiler.Compile(withBundles(file("a", "/a", caFrom(v1alpha1.ValueSource{ConfigMapKeyRef: keyRef("ca", "pem")}), func(f *v1alpha1.File) {
		f.Spec.HeadersFrom = []v1alpha1.HeaderSource{{Name: "Authorization", SecretSource: v1alpha1.SecretSource{SecretKeyRef: *keyRef("token", "text")}}}
	}))))
	if got, want := string(e.Attributes.Raw), `{"ca":"a certificate","path":"/a","source":"https://example.com/a"}`; got != want {
		t.Errorf("got %s", got)
	}
	if len(e.Sealed) != 1 || e.Sealed[0].Attribute != "headers.Authorization" {
		t.Errorf("sealed: %v", e.Sealed)
	}
}

func TestCertificatesOfASecretAreSealed(t *testing.T) {
	t.Parallel()

	e := entryOf(t, compiler.Compile(withBundles(file("a", "/a", caFrom(v1alpha1.ValueSource{SecretKeyRef: keyRef("token", "text")})))))
	if got, want := string(e.Attributes.Raw), `{"path":"/a","source":"https://example.com/a"}`; got != want || len(e.Sealed) != 1 || e.Sealed[0].Attribute != "ca" {
		t.Errorf("got %s, sealed %v", got, e.Sealed)
	}
}

func TestCertificatesThatCannotBeReadWithholdTheResource(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		file *v1alpha1.File
		want string
	}{
		"a key that does not exist": {
			file("a", "/a", caFrom(v1alpha1.ValueSource{ConfigMapKeyRef: keyRef("ca", "crt")})),
			`File/a||MissingSource|caFrom names key "crt" of ConfigMap ops/ca, which does not exist: create it, or correct caFrom`,
		},
		"no reference, which the schema forbids": {
			file("a", "/a", caFrom(v1alpha1.ValueSource{})),
			"File/a||UnexposedSecret|caFrom names Secret /, which does not exist or is not labelled fettle.dev/expose-to-nodes=true: create it, or label it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{tt.want}, outlineOf(t, compiler.Compile(withBundles(tt.file))).Problems); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAChangedConfigMapIsCompiledAgain(t *testing.T) {
	t.Parallel()

	in := withBundles(file("a", "/a", caFrom(v1alpha1.ValueSource{ConfigMapKeyRef: keyRef("ca", "pem")})))
	var c compiler.Compiler
	c.Compile(in)
	in.ConfigMap = func(v1alpha1.KeyRef) (string, bool) { return "another certificate", true }
	if got, want := string(entryOf(t, c.Compile(in)).Attributes.Raw), `{"ca":"another certificate","path":"/a","source":"https://example.com/a"}`; got != want {
		t.Errorf("after the ConfigMap has changed: %s", got)
	}
	in.ConfigMap = func(v1alpha1.KeyRef) (string, bool) { return "", false }
	if got := c.Compile(in); len(got.Problems) != 1 || got.Problems[0].Reason != v1alpha1.ReasonMissingSource {
		t.Errorf("after the ConfigMap is gone: %v", got.Problems)
	}
}

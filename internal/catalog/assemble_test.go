package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

func entry(kind, name, attributes string) v1alpha1.CatalogEntry {
	return v1alpha1.CatalogEntry{Kind: kind, Name: name, Attributes: &runtime.RawExtension{Raw: []byte(attributes)}}
}

func stored(entries ...v1alpha1.CatalogEntry) *v1alpha1.Catalog {
	c := &v1alpha1.Catalog{Entries: entries, Count: int32(len(entries))}
	c.Name = catalog.Name(entries)
	return c
}

func refs(entries []v1alpha1.CatalogEntry) []v1alpha1.ResourceRef {
	var out []v1alpha1.ResourceRef
	for _, e := range entries {
		out = append(out, e.Ref())
	}
	return out
}

func getter(catalogs ...*v1alpha1.Catalog) func(string) (*v1alpha1.Catalog, error) {
	return func(name string) (*v1alpha1.Catalog, error) {
		for _, c := range catalogs {
			if c.Name == name {
				return c, catalog.Verify(name, c)
			}
		}
		return nil, errors.New("not found")
	}
}

func TestAssembleReturnsAllEntriesExceptTheWithheld(t *testing.T) {
	t.Parallel()

	web := stored(entry("SystemService", "nginx", `{"ensure":"running"}`), entry("File", "a", `{"path":"/a"}`))
	all := stored(entry("User", "ann", `{}`), entry("File", "c", `{"path":"/c"}`))
	entries, _, err := catalog.Assemble(v1alpha1.NodeCatalogSpec{
		Catalogs: []v1alpha1.CatalogRef{{Name: web.Name}, {Name: all.Name}},
		Entries:  []v1alpha1.CatalogEntry{entry("File", "b", `{"path":"/b"}`)},
		Withheld: []v1alpha1.Withheld{{Ref: "User/ann", Reason: v1alpha1.ReasonConflict}},
	}, getter(web, all))
	if err != nil {
		t.Fatal(err)
	}
	want := []v1alpha1.ResourceRef{"File/a", "File/b", "File/c", "SystemService/nginx"}
	if diff := cmp.Diff(want, refs(entries)); diff != "" {
		t.Error(diff)
	}
}

func TestAssembleRejectsACatalogThatDoesNotMatchItsName(t *testing.T) {
	t.Parallel()

	tampered := stored(entry("File", "a", `{"path":"/a"}`))
	tampered.Entries[0] = entry("File", "a", `{"path":"/b"}`)
	undecodable := stored(entry("File", "a", `{"path":`))
	for name, c := range map[string]*v1alpha1.Catalog{
		"changed content": tampered,
		"invalid JSON":    undecodable,
		"another entry":   {ObjectMeta: stored().ObjectMeta, Entries: []v1alpha1.CatalogEntry{entry("User", "root", `{}`)}},
		"two JSON values": {ObjectMeta: stored(entry("File", "a", `{}`)).ObjectMeta, Entries: []v1alpha1.CatalogEntry{entry("File", "a", `{} {}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := catalog.Assemble(v1alpha1.NodeCatalogSpec{Catalogs: []v1alpha1.CatalogRef{{Name: c.Name}}}, getter(c))
			var invalid *catalog.InvalidCatalogError
			if !errors.As(err, &invalid) || invalid.Name != c.Name || !strings.Contains(err.Error(), c.Name) {
				t.Errorf("got %v, want an InvalidCatalogError of %s", err, c.Name)
			}
		})
	}
}

func TestAssembleNamesTheMissingCatalog(t *testing.T) {
	t.Parallel()

	_, _, err := catalog.Assemble(v1alpha1.NodeCatalogSpec{Catalogs: []v1alpha1.CatalogRef{{Name: "sha256-1"}}}, getter())
	if want := "cannot get catalog sha256-1: not found"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNameIgnoresHowJSONIsWritten(t *testing.T) {
	t.Parallel()

	a := catalog.Name([]v1alpha1.CatalogEntry{entry("File", "a", `{"path":"/a","content":"<b>","mode":"0644"}`)})
	b := catalog.Name([]v1alpha1.CatalogEntry{entry("File", "a", `{ "mode": "0644", "content": "\u003cb\u003e", "path": "/a" }`)})
	if a != b {
		t.Errorf("%s and %s differ", a, b)
	}
	if other := catalog.Name([]v1alpha1.CatalogEntry{entry("File", "a", `{"path":"/a","content":"<c>","mode":"0644"}`)}); other == a {
		t.Errorf("another content has the same name %s", a)
	}
}

func TestDigestIgnoresHowJSONIsWritten(t *testing.T) {
	t.Parallel()

	spec := func(attributes string, withheld ...v1alpha1.Withheld) v1alpha1.NodeCatalogSpec {
		return v1alpha1.NodeCatalogSpec{Entries: []v1alpha1.CatalogEntry{entry("File", "a", attributes)}, Withheld: withheld}
	}
	if catalog.Digest(spec(`{"a":1,"b":2}`)) != catalog.Digest(spec(`{"b": 2, "a": 1}`, []v1alpha1.Withheld{}...)) {
		t.Error("two spellings of one spec differ")
	}
	if catalog.Digest(spec(`{"a":1}`)) == catalog.Digest(spec(`{"a":2}`)) {
		t.Error("two attributes are the same")
	}
	if catalog.Digest(spec(`{"a":1}`)) == catalog.Digest(spec(`{"a":1}`, v1alpha1.Withheld{Ref: "File/a", Reason: "Conflict"})) {
		t.Error("to withhold something makes no difference")
	}
}

// A field that a newer version added may restrict what the entry does.
func TestEntryOfANewerVersionInvalidatesItsCatalog(t *testing.T) {
	t.Parallel()

	var newer v1alpha1.CatalogEntry
	if err := json.Unmarshal([]byte(`{"kind":"File","name":"a","attributes":{"path":"/a"},"onlyBetween":"2 and 4"}`), &newer); err != nil {
		t.Fatal(err)
	}
	const unknown = `this version of Fettle does not know a part of File/a: unknown field "onlyBetween"; upgrade the agent`
	shared := stored(newer)
	for name, spec := range map[string]v1alpha1.NodeCatalogSpec{
		"the node's own entries are invalid: " + unknown:     {Entries: []v1alpha1.CatalogEntry{newer}},
		"catalog " + shared.Name + " is invalid: " + unknown: {Catalogs: []v1alpha1.CatalogRef{{Name: shared.Name}}},
	} {
		_, _, err := catalog.Assemble(spec, func(name string) (*v1alpha1.Catalog, error) { return shared, catalog.Verify(name, shared) })
		if err == nil || err.Error() != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// kinds can only be bound.
func kinds() []resource.Kind {
	file := &resource.Type[v1alpha1.FileAttributes]{
		Name: "File", NamevarName: "path", Namevar: func(a *v1alpha1.FileAttributes) *string { return &a.Path },
	}
	pkg := &resource.Type[v1alpha1.PackageAttributes]{
		Name: "Package", NamevarName: "name", Namevar: func(a *v1alpha1.PackageAttributes) *string { return &a.Name },
	}
	return []resource.Kind{bound.Kind(file), bound.Kind(pkg)}
}

func TestAnInvalidEntryIsAnInvalidItem(t *testing.T) {
	t.Parallel()

	with := func(adjust func(*v1alpha1.CatalogEntry)) v1alpha1.CatalogEntry {
		e := entry("File", "a", `{"path":"/a"}`)
		adjust(&e)
		return e
	}
	for name, tt := range map[string]struct {
		entry v1alpha1.CatalogEntry
		want  string
	}{
		"a valid entry":        {with(func(*v1alpha1.CatalogEntry) {}), "<nil>"},
		"no attributes":        {v1alpha1.CatalogEntry{Kind: "Package", Name: "nginx"}, "<nil>"},
		"an unknown attribute": {entry("Package", "nginx", `{"colour":"red"}`), `cannot read attributes of Package/nginx: json: unknown field "colour"; Package has: name; if a newer manager sent it, upgrade the agent`},
		"an unknown kind":      {entry("Sysctl", "a", `{}`), `kind "Sysctl" is not known to this version of Fettle, which has: File, Package; if a newer manager sent it, upgrade the agent`},
		"an unknown policy":    {with(func(e *v1alpha1.CatalogEntry) { e.DeletionPolicy = "Archive" }), `deletionPolicy "Archive" is not known to this version of Fettle; upgrade the agent`},
		"an invalid schedule": {with(func(e *v1alpha1.CatalogEntry) {
			e.Schedule = &v1alpha1.Schedule{Weekday: []v1alpha1.Weekday{"Caturday"}}
		}), `schedule: invalid weekday "Caturday": write Mon, Tue, Wed, Thu, Fri, Sat or Sun`},
		"an invalid reference": {with(func(e *v1alpha1.CatalogEntry) {
			e.Edges = &v1alpha1.Edges{Before: []v1alpha1.ResourceRef{"File/b"}, Notify: []v1alpha1.ResourceRef{"nginx"}, Subscribe: []v1alpha1.ResourceRef{"/"}}
		}), `reference "nginx" is not Kind/name, as in File/motd`},
		"an unknown audited property": {with(func(e *v1alpha1.CatalogEntry) { e.Audit = []string{"colour"} }), "audit: resources of kind File leave no state to audit; remove audit"},
	} {
		item := catalog.Items([]v1alpha1.CatalogEntry{tt.entry}, kinds(), nil)[0]
		if got := fmt.Sprint(item.Invalid); got != tt.want || (item.Resource == nil) != (item.Invalid != nil) {
			t.Errorf("%s: got %s, want %s; the resource is %v", name, got, tt.want, item.Resource)
		}
	}
}

func FuzzAssemble(f *testing.F) {
	f.Add(`{"path":"/a"}`)
	f.Add(`[1e400, "\ud800"]`)
	f.Fuzz(func(t *testing.T, attributes string) {
		c := stored(entry("File", "a", attributes))
		spec := v1alpha1.NodeCatalogSpec{Catalogs: []v1alpha1.CatalogRef{{Name: c.Name}}}
		entries, _, err := catalog.Assemble(spec, getter(c))
		if err == nil && !json.Valid([]byte(attributes)) {
			t.Errorf("%q is not JSON and was accepted", attributes)
		}
		catalog.Items(entries, kinds(), nil)
	})
}

func BenchmarkAssemble(b *testing.B) {
	var entries []v1alpha1.CatalogEntry
	for i := range 500 {
		entries = append(entries, entry("File", fmt.Sprintf("r%03d", i), fmt.Sprintf(`{"path":"/etc/r%03d","content":%q}`, i, strings.Repeat("x", 1000))))
	}
	c := stored(entries...)
	spec := v1alpha1.NodeCatalogSpec{Catalogs: []v1alpha1.CatalogRef{{Name: c.Name}}}
	b.ReportAllocs()
	for b.Loop() {
		all, _, err := catalog.Assemble(spec, getter(c))
		if err != nil || len(catalog.Items(all, kinds(), nil)) != 500 {
			b.Fatal(len(all), err)
		}
	}
}

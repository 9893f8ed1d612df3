package catalogs_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/nodeagent/catalogs"
)

// disk is a [catalogs.Documents] in memory that counts reads.
type disk struct {
	bodies map[string][]byte
	reads  []string
	full   bool
}

func (d *disk) Get(name string) ([]byte, error) {
	body, ok := d.bodies[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	d.reads = append(d.reads, name)
	return body, nil
}

func (d *disk) Put(name string, body []byte) error {
	if d.full {
		return errors.New("no space left on device")
	}
	d.bodies[name] = body
	return nil
}

func (d *disk) Retain(names ...string) error {
	maps.DeleteFunc(d.bodies, func(name string, _ []byte) bool { return !slices.Contains(names, name) })
	return nil
}

// remote is a cluster that records the names of fetched catalogs.
type remote struct {
	catalogs map[string]*v1alpha1.Catalog
	fetched  []string
}

func (r *remote) fetch(_ context.Context, name string) (*v1alpha1.Catalog, error) {
	r.fetched = append(r.fetched, name)
	c, ok := r.catalogs[name]
	if !ok {
		return nil, errors.New("the API server is unreachable")
	}
	return c, nil
}

func entries(names ...string) []v1alpha1.CatalogEntry {
	var all []v1alpha1.CatalogEntry
	for _, name := range names {
		all = append(all, v1alpha1.CatalogEntry{Kind: "Notify", Name: name, Attributes: &runtime.RawExtension{Raw: []byte(`{"message":"hello"}`)}})
	}
	return all
}

func remoteWith(all ...[]v1alpha1.CatalogEntry) *remote {
	r := &remote{catalogs: map[string]*v1alpha1.Catalog{}}
	for _, e := range all {
		r.catalogs[catalog.Name(e)] = &v1alpha1.Catalog{Entries: e}
	}
	return r
}

func nodeCatalog(generation int64, all ...[]v1alpha1.CatalogEntry) *v1alpha1.NodeCatalog {
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: generation}}
	for _, e := range all {
		nc.Spec.Catalogs = append(nc.Spec.Catalogs, v1alpha1.CatalogRef{Name: catalog.Name(e)})
	}
	return nc
}

func names(t *catalogs.Target) []string {
	var all []string
	for _, e := range t.Entries {
		all = append(all, e.Name)
	}
	return all
}

func store(d *disk, r *remote) *catalogs.Store {
	return catalogs.NewStore(d, r.fetch, noTypes{}, func(string, ...any) {})
}

func TestCatalogIsFetchedOnceAndReadFromDiskOnce(t *testing.T) {
	a, b, c := entries("a"), entries("b"), entries("c")
	d, r := &disk{bodies: map[string][]byte{}}, remoteWith(a, b, c)
	if _, err := store(d, r).Assemble(t.Context(), nodeCatalog(1, a, b)); err != nil {
		t.Fatal(err)
	}
	d.reads = nil
	restarted := store(d, r)
	if got := names(restarted.LastGood()); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the last good target has %q", got)
	}
	for generation, all := range [][][]v1alpha1.CatalogEntry{{a, b}, {a, b, c}, {a, c}} {
		if _, err := restarted.Assemble(t.Context(), nodeCatalog(int64(generation), all...)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{catalog.Name(a), catalog.Name(b), catalog.Name(c)}, r.fetched); diff != "" {
		t.Errorf("fetched (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"nodecatalog", catalog.Name(a), catalog.Name(b)}, d.reads); diff != "" {
		t.Errorf("read from disk (-want +got):\n%s", diff)
	}
	if want := []string{"nodecatalog", catalog.Name(a), catalog.Name(c)}; len(d.bodies) != len(want) {
		t.Errorf("on disk are %q, want %q", slices.Sorted(maps.Keys(d.bodies)), want)
	}
}

func TestCatalogThatDoesNotMatchItsNameIsNotSaved(t *testing.T) {
	a := entries("a")
	d, r := &disk{bodies: map[string][]byte{}}, &remote{catalogs: map[string]*v1alpha1.Catalog{catalog.Name(a): {Entries: entries("other")}}}
	_, err := store(d, r).Assemble(t.Context(), nodeCatalog(1, a))
	if _, ok := errors.AsType[*catalog.InvalidCatalogError](err); !ok {
		t.Errorf("got %v", err)
	}
	if len(d.bodies) > 0 {
		t.Errorf("on disk are %q", slices.Sorted(maps.Keys(d.bodies)))
	}
}

func TestDamagedCatalogOnDiskIsFetchedAgain(t *testing.T) {
	a := entries("a")
	d, r := &disk{bodies: map[string][]byte{catalog.Name(a): []byte(`{"entries":[]}`)}}, remoteWith(a)
	target, err := store(d, r).Assemble(t.Context(), nodeCatalog(1, a))
	if err != nil || !slices.Equal(names(target), []string{"a"}) {
		t.Fatalf("got %v, %v", target, err)
	}
	if got := store(d, &remote{}).LastGood(); got == nil || got.Digest != target.Digest {
		t.Errorf("the last good target is %v", got)
	}
}

func TestUnsavedCatalogIsSavedWithNextTarget(t *testing.T) {
	a := entries("a")
	d, r := &disk{bodies: map[string][]byte{}, full: true}, remoteWith(a)
	s := store(d, r)
	if _, err := s.Assemble(t.Context(), nodeCatalog(1, a)); err != nil {
		t.Fatal(err)
	}
	d.full = false
	if _, err := s.Assemble(t.Context(), nodeCatalog(2, a)); err != nil {
		t.Fatal(err)
	}
	if got := store(d, &remote{}).LastGood(); got == nil || got.Generation != 2 {
		t.Errorf("the last good target is %v", got)
	}
}

// noTypes are the types of entries of built-in kinds.
type noTypes struct{}

func (noTypes) Of(context.Context, []v1alpha1.CatalogEntry, []v1alpha1.TypeDefinition) ([]*definition.Definition, error) {
	return nil, nil
}
func (noTypes) OnDisk([]v1alpha1.CatalogEntry) []*definition.Definition { return nil }

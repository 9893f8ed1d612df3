package compiler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// maxCatalog is the maximum size of a Catalog and of a node's own entries, in bytes of JSON: well below the limit of an
// API server for one object.
const maxCatalog = 512 << 10

// packCatalogs puts entries into as few catalogs as their size allows, in order.
func packCatalogs(entries []*rendering) []*v1alpha1.Catalog {
	var all []*v1alpha1.Catalog
	for len(entries) > 0 {
		n := 1
		for size := entries[0].Size; n < len(entries) && size+entries[n].Size <= maxCatalog; n++ {
			size += entries[n].Size
		}
		all = append(all, newCatalog(entries[:n]))
		entries = entries[n:]
	}
	return all
}

func newCatalog(entries []*rendering) *v1alpha1.Catalog {
	c := &v1alpha1.Catalog{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Catalog"},
		Count:    int32(len(entries)),
	}
	hashes := make([]string, len(entries))
	for i, e := range entries {
		c.Entries = append(c.Entries, e.Entry)
		hashes[i] = e.Hash
	}
	c.Name = catalog.NameOf(hashes)
	return c
}

func refsOf(catalogs []*v1alpha1.Catalog) []v1alpha1.CatalogRef {
	var all []v1alpha1.CatalogRef
	for _, c := range catalogs {
		all = append(all, v1alpha1.CatalogRef{Name: c.Name})
	}
	return all
}

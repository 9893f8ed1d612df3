package catalog

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// maxCatalog is how much one Catalog, or the entries that are a node's own, may come
// to, in bytes of JSON: well below what an API server stores in one object.
const maxCatalog = 512 << 10

// pack puts drafts into as few catalogs as their size allows, in order.
func pack(drafts []*draft) []*v1alpha1.Catalog {
	var catalogs []*v1alpha1.Catalog
	var group []*draft
	size := 0
	flush := func() {
		if len(group) > 0 {
			catalogs = append(catalogs, newCatalog(group))
		}
		group, size = nil, 0
	}
	for _, d := range drafts {
		if size+d.size > maxCatalog {
			flush()
		}
		group, size = append(group, d), size+d.size
	}
	flush()
	return catalogs
}

func newCatalog(drafts []*draft) *v1alpha1.Catalog {
	c := &v1alpha1.Catalog{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Catalog"},
		Count:    int32(len(drafts)),
	}
	hashes := make([]string, len(drafts))
	for i, d := range drafts {
		c.Entries = append(c.Entries, d.entry)
		hashes[i] = d.hash
	}
	c.Name = hashOfAll(hashes)
	return c
}

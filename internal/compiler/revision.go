package compiler

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler/targeting"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Revision is what people wrote, compiled: everything that does not depend on nodes.
type Revision struct {
	drafts  []*draft
	targets []*target // in the order of their first drafts
	exists  map[v1alpha1.ResourceRef]bool
}

// A target is a targeting and the drafts that have it.
type target struct {
	*targeting.Selection
	key      string
	index    int
	drafts   []*draft
	fault    *fault                // of nodeSelector or when, and so of all drafts
	catalogs []*v1alpha1.Catalog   // of the drafts that are the same on every node
	refs     []v1alpha1.CatalogRef // to the catalogs
}

// maxCatalog is the maximum size of a Catalog and of a node's own entries, in bytes of JSON: well below the limit of an
// API server for one object.
const maxCatalog = 512 << 10

// revise drafts resources in their order. workers is how many are drafted at once; the functions of the drafter must
// be safe for that.
func (c *Compiler) revise(resources []v1alpha1.Resource, by drafter, workers int) *Revision {
	c.selections.turn()
	drafts := make([]*draft, len(resources))
	resource.Each(len(resources), workers, func(i int) { drafts[i] = by.draft(resources[i]) })
	r := &Revision{exists: make(map[v1alpha1.ResourceRef]bool, len(drafts))}
	first, targets := map[v1alpha1.ResourceRef]*draft{}, map[string]*target{}
	for i, d := range drafts {
		if other := first[d.ref]; other != nil {
			other.fault = faultf(v1alpha1.ReasonConflict, "%s is given more than once: give each its own metadata.name", d.ref)
			continue
		}
		first[d.ref], r.exists[d.ref], d.place = d, true, len(r.drafts)
		r.drafts = append(r.drafts, d)
		key := targeting.Key(resources[i].GetTargeting())
		t := targets[key]
		if t == nil {
			t = c.newTarget(key, len(r.targets), resources[i].GetTargeting())
			targets[key], r.targets = t, append(r.targets, t)
		}
		t.drafts = append(t.drafts, d)
		if t.fault != nil {
			d.fault = t.fault
		}
	}
	return r
}

func (c *Compiler) newTarget(key string, index int, t *v1alpha1.Targeting) *target {
	s, known := c.selections.get(key)
	if !known {
		s = targeting.New(t, &c.env)
		c.selections.put(key, s)
	}
	made := &target{Selection: s, key: key, index: index}
	if s.Err != nil {
		made.fault = faultf(s.Reason, "%v", s.Err)
	}
	return made
}

// pack puts the drafts that are the same on every node into as few catalogs as their size allows, in order.
func (t *target) pack() {
	var group []*draft
	size := 0
	flush := func() {
		if len(group) > 0 {
			c := newCatalog(group)
			t.catalogs, t.refs = append(t.catalogs, c), append(t.refs, v1alpha1.CatalogRef{Name: c.Name})
		}
		group, size = nil, 0
	}
	for _, d := range t.drafts {
		if d.fault != nil || d.perNode != nil {
			continue
		}
		if size+d.size > maxCatalog {
			flush()
		}
		group, size = append(group, d), size+d.size
	}
	flush()
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
	c.Name = catalog.NameOf(hashes)
	return c
}

// compareResources orders by kind and name, and then by content, because an input may have two of one name.
func compareResources(a, b v1alpha1.Resource) int {
	if byName := strings.Compare(string(v1alpha1.RefOf(a)), string(v1alpha1.RefOf(b))); byName != 0 || a == b {
		return byName
	}
	first, _ := catalog.Encode(a) // types of the API encode
	second, _ := catalog.Encode(b)
	return slices.Compare(first.Raw, second.Raw)
}

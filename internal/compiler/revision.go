package compiler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/compiler/targeting"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Revision is the compiled form of all resources, as far as it does not depend on nodes.
type Revision struct {
	Drafts  []*Draft
	Targets []*Target // in the order of their first drafts
	Exists  map[v1alpha1.ResourceRef]bool
}

// A Target is a targeting and the drafts that have it. A draft of a Remote type has a Target of its own. Its Fault applies to all of its drafts.
type Target struct {
	*targeting.Selection
	Key      string
	Index    int // in the revision
	Drafts   []*Draft
	Remote   *Draft                // the only one, if one node acts for it
	Catalogs []*v1alpha1.Catalog   // of the drafts that are the same on every node; see pack
	Refs     []v1alpha1.CatalogRef // to the catalogs
}

// maxCatalog is the maximum size of a Catalog and of a node's own entries, in bytes of JSON: well below the limit of an
// API server for one object.
const maxCatalog = 512 << 10

// revise drafts resources in their order, and calls selection for each targeting. workers is how many resources are
// drafted at once; the functions of the drafter must be safe for that.
func (by drafter) revise(resources []v1alpha1.Resource, workers int, selection func(key string, t *v1alpha1.Targeting) *targeting.Selection) *Revision {
	drafts := make([]*Draft, len(resources))
	resource.Each(len(resources), workers, func(i int) { drafts[i] = by.draft(resources[i]) })
	r := &Revision{Exists: make(map[v1alpha1.ResourceRef]bool, len(drafts))}
	first, targets := map[v1alpha1.ResourceRef]*Draft{}, map[string]*Target{}
	for i, d := range drafts {
		if other := first[d.Ref]; other != nil {
			if other.Location != d.Location {
				other.Location = ""
			}
			other.Fault = fault.New(v1alpha1.ReasonConflict, "%s is defined more than once: give each its own metadata.name", d.Ref)
			continue
		}
		first[d.Ref], r.Exists[d.Ref], d.Position = d, true, len(r.Drafts)
		r.Drafts = append(r.Drafts, d)
		key := targeting.Key(resources[i].GetTargeting())
		t := targets[key]
		if t == nil || d.Remote {
			t = &Target{Selection: selection(key, resources[i].GetTargeting()), Key: key, Index: len(r.Targets)}
			r.Targets = append(r.Targets, t)
		}
		if d.Remote {
			t.Remote = d
		} else {
			targets[key] = t
		}
		t.Drafts = append(t.Drafts, d)
		if t.Fault != nil {
			d.Fault = t.Fault
		}
	}
	r.relateRemote()
	return r
}

// pack puts the drafts that are the same on every node into as few catalogs as their size allows, in order.
func (t *Target) pack() {
	var group []*Draft
	size := 0
	flush := func() {
		if len(group) > 0 {
			c := newCatalog(group)
			t.Catalogs, t.Refs = append(t.Catalogs, c), append(t.Refs, v1alpha1.CatalogRef{Name: c.Name})
		}
		group, size = nil, 0
	}
	for _, d := range t.Drafts {
		if d.Fault != nil || d.PerNode != nil {
			continue
		}
		if size+d.Size > maxCatalog {
			flush()
		}
		group, size = append(group, d), size+d.Size
	}
	flush()
}

func newCatalog(drafts []*Draft) *v1alpha1.Catalog {
	c := &v1alpha1.Catalog{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Catalog"},
		Count:    int32(len(drafts)),
	}
	hashes := make([]string, len(drafts))
	for i, d := range drafts {
		c.Entries = append(c.Entries, d.Entry)
		hashes[i] = d.Hash
	}
	c.Name = catalog.NameOf(hashes)
	return c
}

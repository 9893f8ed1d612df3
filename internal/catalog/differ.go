package catalog

import (
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Differ tells in which resources two results of a node differ. What nodes have in
// common it compares once. The zero value is ready; it is not safe for concurrent use.
type Differ struct {
	shared map[[2]*hashes][]v1alpha1.ResourceRef
}

// Between returns the resources that are other ones, by ref, those that came and went
// included.
func (d *Differ) Between(before, now *NodeResult) []v1alpha1.ResourceRef {
	refs := slices.Clone(d.between(before.shared, now.shared))
	refs = append(refs, differences(before.own, now.own)...)
	slices.Sort(refs)
	return slices.Compact(refs)
}

func (d *Differ) between(before, now *hashes) []v1alpha1.ResourceRef {
	if before == now {
		return nil
	}
	pair := [2]*hashes{before, now}
	if known, ok := d.shared[pair]; ok {
		return known
	}
	if d.shared == nil {
		d.shared = map[[2]*hashes][]v1alpha1.ResourceRef{}
	}
	d.shared[pair] = differences(before.by, now.by)
	return d.shared[pair]
}

func differences(a, b map[v1alpha1.ResourceRef]string) []v1alpha1.ResourceRef {
	other := map[v1alpha1.ResourceRef]bool{}
	for ref, hash := range a {
		if b[ref] != hash {
			other[ref] = true
		}
	}
	for ref := range b {
		if _, ok := a[ref]; !ok {
			other[ref] = true
		}
	}
	return slices.Collect(maps.Keys(other))
}

package controllers

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A revision is what of a resource tells whether nodes lose it because it changed.
type revision struct {
	uid        types.UID
	generation int64
	targeting  string // its nodeSelector and when
}

type revisions map[v1alpha1.ResourceRef]revision

// revisionsOf are those of resources; was are the last ones, or nil.
func revisionsOf(resources []v1alpha1.Resource, was revisions) revisions {
	all := make(revisions, len(resources))
	for _, o := range resources {
		ref := v1alpha1.RefOf(o)
		is := revision{o.GetUID(), o.GetGeneration(), was[ref].targeting}
		if is != was[ref] {
			is.targeting = targetingOf(o)
		}
		all[ref] = is
	}
	return all
}

// observed are the revisions that statuses speak of: what a manager that starts knows of the
// time before.
func observed(resources []v1alpha1.Resource) revisions {
	return revisionsOf(slices.DeleteFunc(slices.Clone(resources), func(o v1alpha1.Resource) bool {
		return o.GetStatus().ObservedGeneration != o.GetGeneration()
	}), nil)
}

func targetingOf(o v1alpha1.Resource) string {
	t := o.GetTargeting()
	raw, err := json.Marshal(struct{ NodeSelector, When any }{t.NodeSelector, t.When})
	if err != nil { // words and lists of words: they encode
		return err.Error()
	}
	return string(raw)
}

// aimsAlike reports whether a resource is there in both, and speaks of the same nodes.
func (r revisions) aimsAlike(ref v1alpha1.ResourceRef, before revisions) bool {
	now, exists := r[ref]
	was, existed := before[ref]
	return exists && existed && now.uid == was.uid && now.targeting == was.targeting
}

// without are those of resources that are not there.
func (r revisions) without(refs []v1alpha1.ResourceRef) (missing []v1alpha1.ResourceRef) {
	for _, ref := range refs {
		if _, exists := r[ref]; !exists {
			missing = append(missing, ref)
		}
	}
	return missing
}

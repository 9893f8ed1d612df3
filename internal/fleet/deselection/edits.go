package deselection

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/targeting"
)

// Edits tell deselection by an author, who deletes a resource or edits its nodeSelector or when,
// from deselection because nodes changed. The zero value has observed nothing. It is a value, which no method changes.
type Edits struct {
	revision  int
	resources map[v1alpha1.ResourceRef]edit
}

type edit struct {
	uid       types.UID
	targeting string
	revision  int // since which the resource has this UID and targeting
}

// Observe returns the edits after another look at all resources.
func (e Edits) Observe(resources []v1alpha1.Resource) Edits {
	next := Edits{e.revision + 1, make(map[v1alpha1.ResourceRef]edit, len(resources))}
	for _, o := range resources {
		is := edit{o.GetUID(), targeting.Key(o.GetTargeting()), next.revision}
		was, known := e.resources[v1alpha1.RefOf(o)]
		switch {
		case known && was.uid == is.uid && was.targeting == is.targeting:
			is.revision = was.revision
		case next.revision == 1 && o.GetStatus().ObservedGeneration == o.GetGeneration():
			is.revision = 0
		}
		next.resources[v1alpha1.RefOf(o)] = is
	}
	return next
}

// Revision identifies this look at the resources. Nodes that have their desired spec are in sync with it; 0 stands for the time
// before the first look, which a resource's status tells: what it observed was in effect then.
func (e Edits) Revision() int { return e.revision }

// Unedited reports whether a resource exists and has had its targeting since a revision, so that
// a node that was in sync then and is deselected now must have changed itself.
func (e Edits) Unedited(ref v1alpha1.ResourceRef, since int) bool {
	is, exists := e.resources[ref]
	return exists && is.revision <= since
}

// UID returns the UID of a resource, "" if it does not exist.
func (e Edits) UID(ref v1alpha1.ResourceRef) types.UID { return e.resources[ref].uid }

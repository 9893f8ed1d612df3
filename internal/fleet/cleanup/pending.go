package cleanup

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// maxPending bounds the list of pending clean-ups in a NodeCatalog, in bytes of JSON. A deletion
// does not wait for nodes whose list is full.
const maxPending = 64 << 10

// Finalized returns the UIDs of the resources whose deletion waits for nodes: those that have the
// finalizer or are about to get it.
func Finalized(live map[v1alpha1.ResourceRef]v1alpha1.Resource, deleting []v1alpha1.Resource) map[v1alpha1.ResourceRef]types.UID {
	all := map[v1alpha1.ResourceRef]types.UID{}
	for ref, o := range live {
		if o.GetTargeting().DeletionPolicy.Acts() {
			all[ref] = o.GetUID()
		}
	}
	for _, o := range deleting {
		if controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) {
			all[v1alpha1.RefOf(o)] = o.GetUID()
		}
	}
	return all
}

// Pending returns the list of pending clean-ups to write with a new spec: resources that the
// spec removes, sorted, and earlier ones that the node has yet to report gone. A manager that
// takes over reads it instead of trusting what nodes report.
func Pending(removed []v1alpha1.ResourceRef, finalized map[v1alpha1.ResourceRef]types.UID) (all []v1alpha1.CleanupRef) {
	size := len("[]")
	for _, ref := range removed {
		uid := finalized[ref]
		if uid == "" {
			continue
		}
		e := v1alpha1.CleanupRef{Ref: ref, UID: uid}
		text, err := json.Marshal(e)
		if size += len(text) + len(","); err != nil || size > maxPending {
			return all
		}
		all = append(all, e)
	}
	return all
}

// Unfinished returns the resources of a list of pending clean-ups that a node has yet to report
// gone. applied says whether the node has applied the spec that the list is from.
func Unfinished(list []v1alpha1.CleanupRef, status v1alpha1.NodeCatalogStatus, applied bool, finalized map[v1alpha1.ResourceRef]types.UID) (refs []v1alpha1.ResourceRef) {
	for _, e := range list {
		done := applied && status.Omitted == 0 && reportedProblem(e.Ref, status).ResourceState == ""
		if finalized[e.Ref] == e.UID && !done {
			refs = append(refs, e.Ref)
		}
	}
	return refs
}

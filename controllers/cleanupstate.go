package controllers

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// maxCleanup bounds the list of pending cleanups in a NodeCatalog, in bytes of JSON. A
// deletion does not wait for nodes whose list has no room for it.
const maxCleanup = 64 << 10

// finalizedAmong are the resources whose deletion waits for nodes: those that have our
// finalizer or are about to get it.
func finalizedAmong(live, leaving []v1alpha1.Resource) map[v1alpha1.ResourceRef]types.UID {
	all := map[v1alpha1.ResourceRef]types.UID{}
	for _, o := range live {
		if o.GetTargeting().DeletionPolicy.Acts() {
			all[v1alpha1.RefOf(o)] = o.GetUID()
		}
	}
	for _, o := range leaving {
		if controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) {
			all[v1alpha1.RefOf(o)] = o.GetUID()
		}
	}
	return all
}

// cleanups are the resources that a node has to clean up, as far as deletions wait for that:
// those that a change takes from its spec, and earlier ones that it has yet to report gone.
// They are written with the change, so that a manager that starts later knows them, and so
// that it need not go by what nodes report.
func (r *Fleet) cleanups(c nodeChange, known drops) []v1alpha1.CleanupRef {
	left := slices.Concat(r.dropped(c, known).refs, own(c), r.unfinished(c))
	waited := withheldFrom(c.before)
	slices.Sort(left)
	var all []v1alpha1.CleanupRef
	for _, ref := range slices.Compact(left) {
		uid := r.compiled.finalized[ref]
		never := waited[ref] == v1alpha1.ReasonWaitingForFacts
		if uid != "" && !never && !keeps(c.want, ref) {
			all = append(all, v1alpha1.CleanupRef{Ref: ref, UID: uid})
		}
	}
	return fitCleanups(all)
}

// unfinished are the earlier ones that a node has yet to report gone.
func (r *Fleet) unfinished(c nodeChange) (refs []v1alpha1.ResourceRef) {
	done := r.published.applied(c.node, c.has)
	settled := done.current && done.digest == catalog.Digest(c.before) && c.has.Status.Omitted == 0
	for _, e := range c.before.Cleanup {
		if r.compiled.finalized[e.Ref] == e.UID && (!settled || trouble(e.Ref, c.has.Status).ResourceState != "") {
			refs = append(refs, e.Ref)
		}
	}
	return refs
}

// fitCleanups keeps the first of them that there is room for.
func fitCleanups(all []v1alpha1.CleanupRef) []v1alpha1.CleanupRef {
	size := len("[]")
	for i, e := range all {
		text, err := json.Marshal(e)
		if err != nil { // two strings: they encode
			return all[:i]
		}
		if size += len(text) + len(","); size > maxCleanup {
			return all[:i]
		}
	}
	return all
}

// had reports whether the spec of a node contains, or did contain, a resource that is being
// deleted; has, whether it still does. Both follow from what managers wrote.
func (r *Fleet) had(nc *v1alpha1.NodeCatalog, o v1alpha1.Resource) (had, has bool) {
	spec, ref := r.published.specOf(nc), v1alpha1.RefOf(o)
	has = slices.ContainsFunc(spec.Entries, func(e v1alpha1.CatalogEntry) bool { return e.Ref() == ref }) ||
		slices.ContainsFunc(spec.Withheld, func(w v1alpha1.Withheld) bool { return w.Ref == ref }) ||
		slices.ContainsFunc(spec.Catalogs, func(c v1alpha1.CatalogRef) bool { return r.mayContain(c.Name, ref) })
	return has || slices.Contains(spec.Cleanup, v1alpha1.CleanupRef{Ref: ref, UID: o.GetUID()}), has
}

// mayContain reports whether a resource that is being deleted is in a catalog, as far as is
// known: one that was compiled without it has it not.
func (r *Fleet) mayContain(name string, ref v1alpha1.ResourceRef) bool {
	if r.compiled.result.Catalogs[name] != nil {
		return false
	}
	refs, known := r.deselection.refs[name]
	return !known || slices.Contains(refs, ref)
}

package controllers

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/cleanup"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
	"github.com/fettle-dev/fettle/internal/fleet/deselection"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// desired is what nodes are to have: the last compilation, which is nil before the first one, and what of it they don't get yet.
type desired struct {
	*compilation
	holds
	assignments assignments
}

// want returns the desired state of a compiled node: of the newest revision, unless a rollout gives it another one.
func (d desired) want(node string) *compiler.NodeResult {
	if at, assigned := d.assignments.byNode[node]; assigned {
		return at.want
	}
	return d.Nodes[node]
}

// holds are the updates that the deselection budget does not allow.
type holds struct {
	budget deselection.Budget // after the decision
	hold   deselection.Hold
	marks  map[string]*v1alpha1.Held // by node
}

// A decision is which nodes get what of a compilation, between its compilation and its publication.
type decision struct {
	desired
	before  holds    // of the last decision
	inSync  []string // the nodes that have their desired spec
	updates []update // to be written, by node
	held    []update // not to be written
}

// An update is a NodeCatalog that is not the desired one.
type update struct {
	node   *corev1.Node
	want   *compiler.NodeResult
	has    *v1alpha1.NodeCatalog // nil if it is to be created
	before spec                  // of has
	diff   contents.Diff         // of before and want
	// rollout is what the spec is made from, to be written with it; nil without a policy.
	rollout *v1alpha1.NodeRollout
	// cleanup is the list of pending clean-ups to be written.
	cleanup []v1alpha1.CleanupRef
	mark    mark // to be written
}

// moves reports whether the update gives the node another revision.
func (u update) moves() bool {
	return u.has != nil && u.rollout != nil && (u.before.Rollout == nil || u.before.Rollout.Revision != u.rollout.Revision)
}

// A history is what a decision depends on besides the cluster and the compilation.
type history struct {
	now        time.Time
	maxPercent int   // of the nodes that may lose resources at once
	holds      holds // of the last decision
	refusals   limits.Refusals
}

// decide decides which nodes get what of a compilation, at the pace of rollouts: those whose spec differs, unless the API server has just
// rejected it, or the deselection budget holds it.
func decide(sc *scope, specs map[string]spec, next desired, h history) decision {
	d := decision{desired: next, before: h.holds}
	compiled := next.compilation
	all, inSync := planUpdates(sc, specs, next, h)
	d.inSync = inSync
	losses := planRemovals(sc, next, all, h)
	f := deselection.Input{Now: h.now, Nodes: len(sc.nodeCatalogs), MaxPercent: h.maxPercent, UID: compiled.edits.UID}
	if sc.fleet != nil {
		f.Confirmation = sc.fleet.Annotations[v1alpha1.AnnotationConfirmDeselection]
	}
	d.hold, d.budget = h.holds.budget.Decide(losses, f)
	d.marks = map[string]*v1alpha1.Held{}
	for _, u := range all {
		m := d.hold.Mark(u.node.Name)
		if m == nil {
			d.updates = append(d.updates, u)
			continue
		}
		m.Since = h.heldSince(u)
		d.marks[u.node.Name] = m
		d.held = append(d.held, u)
	}
	return d
}

// planUpdates returns the nodes whose spec is not the desired one, by name, and those whose spec is.
func planUpdates(sc *scope, specs map[string]spec, next desired, h history) (updates []update, inSync []string) {
	for _, node := range slices.Sorted(maps.Keys(next.Nodes)) {
		u := update{
			node: sc.nodes[node], want: next.want(node), has: sc.nodeCatalogs[node], before: specs[node],
			rollout: next.assignments.byNode[node].rollout, mark: mark{fleetDisabled: sc.disabled},
		}
		switch {
		case u.node == nil: // it is gone since the compilation
		case u.has != nil && u.before.matches(u.want):
			inSync = append(inSync, node)
		case !h.refusals.BackingOff(node, u.want.Digest, h.now):
			updates = append(updates, u)
		}
	}
	return updates, inSync
}

// planRemovals completes the updates with what they remove and with the pending clean-ups, and returns what nodes would lose because
// they changed.
func planRemovals(sc *scope, next desired, updates []update, h history) (losses []deselection.Loss) {
	differ, finalized := contents.Differ{Entries: sc.entries(next.compilation)}, cleanup.Finalized(sc.live, sc.deleting)
	for i := range updates {
		u := &updates[i]
		if u.has == nil {
			continue
		}
		u.diff = differ.Diff(u.before.NodeCatalogSpec, u.want.Spec)
		removed := slices.DeleteFunc(appliedBefore(u.diff.Removed, u.before.NodeCatalogSpec), sc.isRemote) // nodes remove none of these
		u.cleanup = planCleanup(*u, removed, finalized, &differ)
		if own := ownLosses(*u, removed, next, &differ); len(own) > 0 {
			losses = append(losses, h.loss(*u, own))
		}
	}
	return losses
}

// ownLosses returns what an update removes because the node changed, and not because somebody edited resources. With a rollout, that is what
// the revision that the node has does not give it any more.
func ownLosses(u update, removed []v1alpha1.ResourceRef, next desired, differ *contents.Differ) []v1alpha1.ResourceRef {
	if at, assigned := next.assignments.byNode[u.node.Name]; assigned {
		return slices.DeleteFunc(removed, func(ref v1alpha1.ResourceRef) bool { return differ.Contains(at.base.Spec, ref) })
	}
	return slices.DeleteFunc(removed, func(ref v1alpha1.ResourceRef) bool { return !next.edits.Unedited(ref, u.before.inSync) })
}

// planCleanup returns the pending clean-ups: of what the update removes, and of what the node has
// yet to report gone.
func planCleanup(u update, removed []v1alpha1.ResourceRef, finalized map[v1alpha1.ResourceRef]types.UID, differ *contents.Differ) []v1alpha1.CleanupRef {
	applied := u.before.applied(u.before.digest, u.has.Status)
	earlier := cleanup.Unfinished(u.before.Cleanup, u.has.Status, applied, finalized)
	earlier = slices.DeleteFunc(earlier, func(ref v1alpha1.ResourceRef) bool { return differ.Contains(u.want.Spec, ref) })
	all := slices.Concat(removed, earlier)
	slices.Sort(all)
	return cleanup.Pending(slices.Compact(all), finalized)
}

// appliedBefore leaves out resources that waited for the node's first facts: it never had them.
func appliedBefore(removed []v1alpha1.ResourceRef, before v1alpha1.NodeCatalogSpec) []v1alpha1.ResourceRef {
	withheld := contents.Withheld(before)
	return slices.DeleteFunc(slices.Clone(removed), func(ref v1alpha1.ResourceRef) bool { return withheld[ref].Reason == v1alpha1.ReasonWaitingForFacts })
}

// loss returns what a node is about to lose.
func (h history) loss(u update, removed []v1alpha1.ResourceRef) deselection.Loss {
	l := deselection.Loss{Node: u.node.Name, State: u.before.heldAs(h.heldSince(u)), Refs: removed}
	if held := u.before.Held; held != nil {
		l.Since = held.Since.Time
	}
	return l
}

// heldSince returns when the hold of a node began: now, unless it is held already.
func (h history) heldSince(u update) metav1.Time {
	if held := cmp.Or(u.before.Held, h.holds.marks[u.node.Name]); held != nil {
		return held.Since
	}
	return metav1.NewTime(h.now.UTC().Truncate(time.Second))
}

// Package deselection limits how many nodes lose resources because the nodes changed.
//
// A label that is edited by mistake, or facts that change with an upgrade, would remove
// resources from many hosts although nobody touched a resource. A [Budget] holds such updates
// until someone confirms or reverts them. Deselection that an author asks for is not limited;
// [Edits] tell the two apart.
package deselection

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// DefaultMaxPercent is the share of nodes that may lose resources within Period.
const DefaultMaxPercent = 20

// Period is how long a node counts that lost a resource. It counts once in quarantine, so that a node
// that loses resources again and again, as a lying one may, delays the others for one Period only.
const Period, quarantine = 10 * time.Minute, time.Hour

// A Loss is the resources that one node is about to lose because it changed.
type Loss struct {
	Node string
	// State identifies the hold of the node. It is the same while the node is held, and another one in its next hold.
	State string
	// Since is when the node was first held, as its NodeCatalog says; zero if it is not.
	Since time.Time
	Refs  []v1alpha1.ResourceRef
}

// An Input is what a decision depends on, besides the losses and the budget.
type Input struct {
	Now        time.Time
	Nodes      int // that have a NodeCatalog
	MaxPercent int // of them that may lose resources; one node always may
	// UID returns the UID of a resource.
	UID func(v1alpha1.ResourceRef) types.UID
	// Confirmation is the value of the annotation confirm-deselection of the Fleet, "" for none.
	Confirmation string
}

// A Budget remembers when nodes first lost a resource. The zero value remembers none. It is a value, which no method changes.
type Budget struct {
	decided   bool                              // at least once
	resumed   time.Time                         // until when the hold of an earlier budget goes on
	first     map[string]time.Time              // by node, within quarantine
	confirmed map[string][]v1alpha1.ResourceRef // by node, until it has lost them
}

// Decide returns which losses are held, and the budget after that, which takes the other losses as done. All are held until the
// hold is confirmed, or until few enough nodes are left.
func (b Budget) Decide(losses []Loss, f Input) (Hold, Budget) {
	next := Budget{decided: true, resumed: b.resumed, first: b.firstWithin(quarantine, f.Now)}
	if !b.decided {
		next.resumed = endOfHold(losses)
	}
	losses, next.confirmed = b.unconfirmed(losses)
	name := token(losses, f.UID)
	if f.Confirmation == name {
		for _, l := range losses {
			next.confirmed[l.Node] = append(next.confirmed[l.Node], l.Refs...)
		}
		losses = nil
	}
	first := map[string]time.Time{} // if nothing is held
	for _, l := range losses {
		first[l.Node] = f.Now
	}
	maps.Copy(first, next.first)
	affected, recent := countRecent(first, f.Now), countRecent(next.first, f.Now)
	few := affected <= 1 || affected*100 <= f.Nodes*f.MaxPercent
	if len(losses) == 0 || few && !f.Now.Before(next.resumed) {
		next.first = first
		return Hold{}, next
	}
	return newHold(losses, name, recent, f.Nodes), next
}

// firstWithin returns when nodes first lost a resource, of those that did within a time.
func (b Budget) firstWithin(limit time.Duration, now time.Time) map[string]time.Time {
	first := maps.Clone(b.first)
	maps.DeleteFunc(first, func(_ string, at time.Time) bool { return now.Sub(at) >= limit })
	return first
}

// Next returns the time until recent losses expire, so that nodes that are held may proceed; 0
// if there are none.
func (b Budget) Next(now time.Time) time.Duration {
	ends := []time.Time{b.resumed}
	for _, at := range b.first {
		ends = append(ends, at.Add(Period))
	}
	slices.SortFunc(ends, time.Time.Compare)
	for _, at := range ends {
		if left := at.Sub(now); left > 0 {
			return left
		}
	}
	return 0
}

// endOfHold returns until when losses from before a hold, which only an earlier budget knew, count: none come while a hold lasts.
func endOfHold(losses []Loss) (end time.Time) {
	for _, l := range losses {
		if at := l.Since.Add(Period); !l.Since.IsZero() && (end.IsZero() || at.Before(end)) {
			end = at
		}
	}
	return end
}

// unconfirmed returns the losses that nobody has confirmed, and the others by node. A confirmation stays in effect for
// each of its nodes until that has lost the resources: writes may fail.
func (b Budget) unconfirmed(losses []Loss) (left []Loss, confirmed map[string][]v1alpha1.ResourceRef) {
	confirmed = map[string][]v1alpha1.ResourceRef{}
	for _, l := range losses {
		var refs []v1alpha1.ResourceRef
		for _, ref := range l.Refs {
			if slices.Contains(b.confirmed[l.Node], ref) {
				confirmed[l.Node] = append(confirmed[l.Node], ref)
			} else {
				refs = append(refs, ref)
			}
		}
		if len(refs) > 0 {
			left = append(left, Loss{l.Node, l.State, l.Since, refs})
		}
	}
	slices.SortFunc(left, func(a, b Loss) int { return cmp.Compare(a.Node, b.Node) })
	return left, confirmed
}

// countRecent counts the nodes that first lost a resource within Period.
func countRecent(first map[string]time.Time, now time.Time) (n int) {
	for _, at := range first {
		if now.Sub(at) < Period {
			n++
		}
	}
	return n
}

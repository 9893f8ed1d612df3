// Package acting derives which nodes can act for resources of Remote types, and which have stopped, from what managers have
// written to NodeCatalogs and what agents report.
//
// A node that is told to stop may be in the middle of a run. It has stopped when it reports that it has applied
// what it was told. Of a silent node, that follows from time: its agent starts no program of a Remote type once its Lease has
// expired, and a program that it started before has a deadline.
package acting

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/internal/text"
)

// An Observation is what is known of a node.
type Observation struct {
	Spec       v1alpha1.NodeCatalogSpec // as it was written last
	Generation int64                    // of Spec
	Applied    bool                     // the node reports that it has applied Spec
	Reported   *v1alpha1.NodeCatalog    // required
	// Silence of its agent, nil if it is heard.
	Silence *heartbeat.Silence
	// Nodes is the number of all nodes, and MaxPercent how many of them may fall silent at once before others take
	// over from none of them; one always may.
	Nodes, MaxPercent int
}

// Placement returns what a node means for placements, and when that changes because time passes, 0 for never. deadline returns the
// time limit of the programs of a kind, and false if the kind is not Remote.
func (n Observation) Placement(deadline func(kind string) (time.Duration, bool)) (is placement.Candidate, next time.Duration) {
	eligible, confirmed := n.state()
	is = placement.Candidate{Eligible: eligible, Assignments: map[v1alpha1.ResourceRef]placement.Assignment{}}
	var wait limits.Wait
	if n.Silence != nil {
		is.StaysActing, is.Held = n.staysActing()
		wait.Add(n.Silence.Duration - n.Silence.For)
	}
	for _, e := range n.Spec.Entries {
		if _, remote := deadline(e.Kind); remote {
			is.Assignments[e.Ref()] = placement.Acting
		}
	}
	for _, w := range n.Spec.Withheld {
		kind, _, _ := strings.Cut(string(w.Ref), "/")
		limit, remote := deadline(kind)
		if !remote {
			continue
		}
		is.Assignments[w.Ref] = n.withheld(confirmed, limit)
		if is.Assignments[w.Ref] == placement.Stopping && n.Silence != nil {
			wait.Add(limit - n.Silence.For)
		}
	}
	return is, time.Duration(wait)
}

// state returns whether the node is eligible, and whether it has confirmed that it does what Spec says. An agent whose runs are disabled
// does nothing, and obeys the newest Spec that it has seen once they are enabled.
func (n Observation) state() (eligible, confirmed bool) {
	_, disabled := nodestatus.Disabled(n.Reported)
	eligible = n.Reported.Status.AgentVersion != "" && n.Silence == nil && !disabled
	return eligible, n.Applied || disabled && n.Reported.Status.ObservedGeneration >= n.Generation
}

// staysActing returns whether a silent node stays the acting one, and why if that does not end by itself. It does for another duration of its
// Lease, after which all agents that stopped renewing at the same time are known, and for as long as too many of them did:
// an attacker who delays the requests of agents must not get their roles and secrets.
func (n Observation) staysActing() (keeps bool, held string) {
	if s := n.Silence; s.With > 1 && s.With*100 > n.Nodes*n.MaxPercent {
		return true, fmt.Sprintf("the agents of %d of %s fell silent at about the same time", s.With, text.Count(n.Nodes, "node"))
	}
	return n.Silence.For < n.Silence.Duration, ""
}

// withheld returns whether a node has stopped acting for a resource that is withheld from it.
func (n Observation) withheld(confirmed bool, limit time.Duration) placement.Assignment {
	if confirmed || n.Silence != nil && n.Silence.For >= limit {
		return placement.Stopped
	}
	return placement.Stopping
}

// PlacementChanged reports whether what a node reports may change placements.
func PlacementChanged(before, now *v1alpha1.NodeCatalog) bool {
	_, was := nodestatus.Disabled(before)
	_, is := nodestatus.Disabled(now)
	if was != is || (before.Status.AgentVersion == "") != (now.Status.AgentVersion == "") {
		return true
	}
	confirms := before.Status.AppliedGeneration != now.Status.AppliedGeneration || before.Status.ObservedGeneration != now.Status.ObservedGeneration
	return confirms && slices.ContainsFunc(now.Spec.Withheld, func(w v1alpha1.Withheld) bool { return w.Reason == v1alpha1.ReasonMoving })
}

// Removal returns a resource that is being deleted as it is compiled: absent, so that its acting node removes what it
// describes.
func Removal(o *v1alpha1.External) *v1alpha1.External {
	gone := o.DeepCopyObject().(*v1alpha1.External)
	gone.Spec.Ensure = "absent"
	return gone
}

package rollout

import (
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Spec describes the spec that the NodeCatalog of a node has, and what revisions give to the node as it is now: its facts may
// have changed since the spec was written. Digests are "" where a revision cannot be assigned.
type Spec struct {
	Exists bool   // the node has a NodeCatalog with a spec
	Digest string // of the spec that it has
	// Revision is what the spec records as its origin, "" if it records nothing. Known says that this revision still exists.
	Revision string
	Known    bool
	// Pinned says that the policy is pinned, so that it does not roll out what is pending.
	Pinned bool
	// Digests of the specs that the goal, the stable revision and, if it is known, Revision give to the node now.
	Goal, Stable, Recorded string
}

// A Location is where a node stands between revisions.
type Location struct {
	Revision  string // that the node has, and from which it is served until it is admitted
	Affected  bool   // the goal and the stable revision give it different specs, or it has neither
	AtGoal    bool   // it has the goal
	Abandoned bool   // it has neither the goal nor the stable revision: an abandoned target, or what another policy gave to it
}

// Locate returns where a node stands. A node without a spec gets the stable revision, which is proven, at once. A node whose
// spec is the goal's has the goal, even if another policy gave it to the node. Otherwise a node has the revision that its spec
// records, as long as that exists: it may have come from another policy, and stays there until it is admitted. At rest, one that has the
// pending revision is not taken back: that is about to be rolled out.
//
// The record of a node is as old as its spec. Where it is of a former rollout of the policy, later ones may have given the node the same spec, so
// that it says nothing once facts or labels change what the node is to have: then the node has the stable revision, which is proven.
func Locate(s State, n Spec) Location {
	goal := s.Goal()
	at := s.revision(n)
	ahead := s.Target == "" && at == s.Pending && at != "" && !n.Pinned
	elsewhere := at != goal && at != s.Stable && !ahead
	return Location{
		Revision:  at,
		Affected:  n.Goal != n.Stable || elsewhere,
		AtGoal:    at == goal,
		Abandoned: elsewhere,
	}
}

func (s State) revision(n Spec) string {
	switch {
	case !n.Exists:
		return s.equal(n.Stable, n, s.Stable)
	case n.Digest == n.Goal && n.Goal != "":
		return s.Goal()
	case n.Known && s.ended(n.Revision) && n.Digest != n.Recorded:
		return s.equal(n.Recorded, n, s.Stable)
	case n.Known:
		return s.equal(n.Recorded, n, n.Revision)
	}
	return s.equal(n.Stable, n, s.Stable)
}

// ended reports whether the history has a rollout of a revision.
func (s State) ended(revision string) bool {
	return revision != s.Goal() && slices.ContainsFunc(s.History, func(r v1alpha1.RolloutRecord) bool { return r.Revision == revision })
}

// equal returns the goal or the stable revision if one of them gives the node a spec with this digest, else the other revision.
func (s State) equal(digest string, n Spec, revision string) string {
	switch digest {
	case "":
		return revision
	case n.Goal:
		return s.Goal()
	case n.Stable:
		return s.Stable
	}
	return revision
}

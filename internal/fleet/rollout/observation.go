package rollout

import "time"

// clockSkew is how far the clock of a Node's conditions may be behind that of the manager.
const clockSkew = time.Minute

// An Observation is what is known of a node of the policy.
type Observation struct {
	Name, Zone string
	// Group is the same for nodes that the change concerns in the same way.
	Group        string
	ControlPlane bool

	// Affected, AtGoal and Abandoned are those of the node's [Location].
	Affected, AtGoal, Abandoned bool
	// Revision is the one that its spec records, "" for none, and Since is when the node was moved there, zero if that is unknown.
	Revision string
	Since    time.Time
	// Joined says that the node has had no other revision: it was not moved to this one, but created with it.
	Joined bool

	Digest  string // of the spec that the node has, "" if it has none yet
	Applied bool   // the node reports that it has applied exactly this spec

	Silent bool // the Lease of its agent has expired
	// SilentSince is when that was, zero if that is unknown.
	SilentSince time.Time
	Disabled    bool // runs are disabled
	Leaving     bool // it is being deleted, or tainted for scale-in
	Held        bool // its updates are held, because too many nodes would lose resources

	// Failing is why resources of the node fail, or why it cannot run, "" if neither. FailingNew says that this began after Since, or concerns
	// something that the goal changes; also if Since is unknown.
	Failing    string
	FailingNew bool
	// Unrepaired says that the node began to fail, or ceased to be Ready, with a target that was replaced. Until that has ended, the node proves nothing.
	Unrepaired bool
	// NotReady says that the Node is not Ready, and NotReadySince since when, zero if that is unknown.
	NotReady      bool
	NotReadySince time.Time
	// Refused is why the API server does not accept the goal for a node that is being admitted, "" if it does.
	Refused string
	// Untried says that everything that the goal changes on the node was skipped or only reported.
	Untried bool
}

// unheard reports whether the node can neither prove a revision nor fail with it, because nobody hears it, it does nothing, gets nothing, or has just
// joined and is about to get the stable revision.
func (o Observation) unheard() bool {
	return o.Silent || o.Disabled || o.Leaving || o.Held || o.Digest == ""
}

func (o Observation) hasApplied() bool { return o.AtGoal && o.Applied }

// impaired reports whether the node is not well for a reason that may or may not be what it has now.
func (o Observation) impaired() bool { return o.Failing != "" || o.NotReady }

func (o Observation) failsNewly() bool { return o.Failing != "" && o.FailingNew }

// wasSilent reports whether the agent was silent when the node was moved. Where that is unknown, it was not.
func (o Observation) wasSilent() bool {
	return !o.SilentSince.IsZero() && !o.Since.IsZero() && !o.SilentSince.After(o.Since)
}

// lostReady reports whether the Node was Ready when it was moved. Where that is unknown, it was.
func (o Observation) lostReady() bool {
	known := !o.Since.IsZero() && !o.NotReadySince.IsZero()
	return o.NotReady && !(known && o.NotReadySince.Add(clockSkew).Before(o.Since))
}

// why returns why a node is not well, "" if it is.
func why(o Observation) string {
	switch {
	case o.Silent:
		return "its agent is silent"
	case o.Disabled:
		return "its runs are disabled"
	case o.Leaving:
		return "is being removed"
	case o.Held:
		return "its update is held"
	case o.Refused != "":
		return o.Refused
	case o.Failing != "":
		return o.Failing
	case o.NotReady:
		return "the Node is not Ready"
	case o.Digest == "":
		return "has just joined"
	}
	return ""
}

package rollout

import "time"

// A Phase is how far a node has come with the goal.
type Phase string

// Phases of nodes.
const (
	Waiting  Phase = "Waiting"  // does not have the goal
	Applying Phase = "Applying" // has yet to apply it
	Soaking  Phase = "Soaking"  // has applied it, and has yet to be well for long enough
	Proven   Phase = "Proven"   // has been well with it for long enough
	Untried  Phase = "Untried"  // has applied it without changing anything
	Failed   Phase = "Failed"   // fails with it, for a reason that is new
	Excluded Phase = "Excluded" // cannot show whether it works, for a reason that is not the goal's
)

// A Node is an observation of a node, and what follows from it and from earlier ones.
type Node struct {
	Observation
	Phase Phase
	// Reason of a failure, a constant such as [v1alpha1.RolloutNodeSilent]. "" in other phases.
	Reason string
	// Message explains the phase. It is the same as long as nothing happens, whatever time it is.
	Message string
	// Changes is when the phase changes though nothing happens, 0 for never.
	Changes time.Duration
}

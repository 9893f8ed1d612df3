package rollout

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Limits of lists in the status, as the API server enforces them.
const (
	maxAdmitting = 512
	maxFailures  = 256
	maxHistory   = 10
)

// State is the part of the status of a policy that decisions read and change.
type State struct {
	Stable, Target, Pending string
	// Started is when the rollout of Target started, in whole seconds as the API server stores it. It is zero at rest.
	Started time.Time
	// Admitting are nodes that get the goal and have not been seen there yet, sorted.
	Admitting []string
	// Failures names the first nodes that failed, and Nodes.Failed counts all of them, also those that are well again or gone. They belong to
	// Target, or to the last target at rest.
	Failures []v1alpha1.RolloutFailure
	Nodes    v1alpha1.RolloutNodes
	History  []v1alpha1.RolloutRecord // the latest first
}

// StateOf returns the state in a status, and shares nothing with it.
func StateOf(s v1alpha1.RolloutPolicyStatus) State {
	state := State{
		Stable: s.Stable, Target: s.Target, Pending: s.Pending,
		Admitting: s.Admitting, Failures: s.Failures, Nodes: s.Nodes, History: s.History,
	}
	if s.Started != nil {
		state.Started = s.Started.Time
	}
	return state.clone()
}

// Apply sets the fields of a status that the state has, and leaves the others.
func (s State) Apply(to *v1alpha1.RolloutPolicyStatus) {
	s = s.clone()
	to.Stable, to.Target, to.Pending = s.Stable, s.Target, s.Pending
	to.Admitting, to.Failures, to.Nodes, to.History = s.Admitting, s.Failures, s.Nodes, s.History
	if to.Started = nil; !s.Started.IsZero() {
		to.Started = new(metav1.NewTime(s.Started))
	}
}

// Goal returns the revision that nodes are to have: the target, or at rest the stable one.
func (s State) Goal() string {
	if s.Target != "" {
		return s.Target
	}
	return s.Stable
}

// Completed reports whether the policy has completed a revision before.
func (s State) Completed(revision string) bool {
	return revision == s.Stable || Completed(s.History, revision)
}

// Completed reports whether a history has a completed rollout of a revision.
func Completed(history []v1alpha1.RolloutRecord, revision string) bool {
	return slices.ContainsFunc(history, func(r v1alpha1.RolloutRecord) bool {
		return r.Revision == revision && r.Outcome == v1alpha1.RolloutCompleted
	})
}

// Halted reports whether so many nodes failed with the target that no further node gets it.
func (s State) Halted(p Policy) bool {
	return s.Target != "" && int(s.Nodes.Failed) > p.MaxFailedOf(int(s.Nodes.Admitted))
}

// Since returns what is to be recorded as the time at which nodes are moved to the goal. It is not before Started, although the clock may
// be: another manager may have started the rollout, or the clock may have been set back.
func (s State) Since(now time.Time) time.Time {
	if now = now.Truncate(time.Second); now.Before(s.Started) {
		return s.Started
	}
	return now
}

// Retry returns the state without the failure of a node, so that the node is tried again. [Tracker.Forget] gives it the whole time again.
func (s State) Retry(node string) State {
	s = s.clone()
	before := len(s.Failures)
	s.Failures = slices.DeleteFunc(s.Failures, func(f v1alpha1.RolloutFailure) bool { return f.Node == node })
	s.Nodes.Failed -= int32(before - len(s.Failures)) //nolint:gosec // at most maxFailures
	return s
}

// end returns the state after the rollout of the target, with a record of it.
func (s State) end(outcome v1alpha1.RolloutOutcome, now time.Time) State {
	s = s.clone()
	record := v1alpha1.RolloutRecord{
		Revision: s.Target, Outcome: outcome, Started: metav1.NewTime(s.Started), Ended: metav1.NewTime(s.Since(now)), Nodes: s.Nodes,
	}
	s.History = limited(slices.Insert(s.History, 0, record))
	s.Target, s.Started, s.Admitting = "", time.Time{}, nil
	return s
}

// limited returns a history without the records for which it has no room: the oldest ones of rollouts that were not completed or, if there are none
// but the latest, the oldest one. Nodes go back to what was completed, and other policies wait for it.
func limited(history []v1alpha1.RolloutRecord) []v1alpha1.RolloutRecord {
	for len(history) > maxHistory {
		oldest := len(history) - 1
		for i, r := range slices.Backward(history[1:]) {
			if r.Outcome != v1alpha1.RolloutCompleted {
				oldest = i + 1
				break
			}
		}
		history = slices.Delete(history, oldest, oldest+1)
	}
	return history
}

// begin returns the state at the beginning of the rollout of a revision. What failed before belongs to another target.
func (s State) begin(revision string, now time.Time) State {
	s.Target, s.Started = revision, now.Truncate(time.Second)
	s.Admitting, s.Failures, s.Nodes = nil, nil, v1alpha1.RolloutNodes{Total: s.Nodes.Total}
	return s
}

func (s State) clone() State {
	s.Admitting, s.Failures, s.History = slices.Clone(s.Admitting), slices.Clone(s.Failures), slices.Clone(s.History)
	return s
}

package rollout

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// maxMessage is the length of a message in the status.
const maxMessage = 256

// recordFailures adds the nodes that have failed with the target since the last decision. Nodes.Failed only grows. Nodes that find no room in
// the list are counted while they fail, as nothing remembers them.
func (r *roster) recordFailures() {
	before, unnamed := len(r.State.Failures), 0
	for _, n := range r.with(failed) {
		switch {
		case r.failures[n.Name]:
		case len(r.State.Failures) >= maxFailures:
			unnamed++
		default:
			r.State.Failures = append(r.State.Failures, v1alpha1.RolloutFailure{
				Node: n.Name, Reason: n.Reason, Message: text.ClipMiddle(n.Message, maxMessage), At: metav1.NewTime(r.State.Since(r.Now)),
			})
		}
	}
	named := len(r.State.Failures)
	r.State.Nodes.Failed = max(r.State.Nodes.Failed+int32(named-before), int32(named+unnamed)) //nolint:gosec // numbers of nodes
}

// failedNodes returns how many nodes have failed with the goal, also those that are gone. At rest, failures belong to the last target.
func (r *roster) failedNodes() int {
	if !r.rollingOut() {
		return 0
	}
	return int(r.State.Nodes.Failed)
}

// admitted returns how many nodes have the goal or are about to.
func (r *roster) admitted() int { return r.count[inFlight] + r.count[proven] + r.failedNodes() }

func (r *roster) halted() bool { return r.failedNodes() > r.Policy.MaxFailedOf(r.admitted()) }

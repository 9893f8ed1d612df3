package rollout

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

const maxSamples = 10

// samples returns nodes that the rollout waits for.
func (r *roster) samples() (samples []v1alpha1.RolloutSample) {
	add := func(n Node, state Phase, message string) {
		if len(samples) < maxSamples {
			samples = append(samples, v1alpha1.RolloutSample{Node: n.Name, State: string(state), Message: text.ClipMiddle(message, maxMessage)})
		}
	}
	for _, n := range r.with(failed) {
		add(n, Failed, r.failure(n))
	}
	for _, phase := range []Phase{Waiting, Applying, Soaking} {
		for _, n := range r.with(inFlight) {
			if n.Phase == phase {
				add(n, shown(phase), n.Message)
			}
		}
	}
	for _, is := range []role{untried, unheard, impaired} {
		for _, n := range r.with(is) {
			add(n, Excluded, n.Message)
		}
	}
	return samples
}

// failure returns why a node failed when it did, as it may be well again.
func (r *roster) failure(n Node) string {
	for _, f := range r.State.Failures {
		if f.Node == n.Name {
			return f.Message
		}
	}
	return n.Message
}

// shown returns a phase as the status has it. A node that is about to get the goal has yet to apply it.
func shown(p Phase) Phase {
	if p == Waiting {
		return Applying
	}
	return p
}

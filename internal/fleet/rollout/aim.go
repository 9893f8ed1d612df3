package rollout

import (
	"cmp"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Wanted is what a policy may roll out at present.
type Wanted struct {
	// Revision is the newest revision that the policy may roll out: its pin, or what the policies before it have completed. "" for none.
	Revision string
	// Pinned says that a person has decided for Revision, which therefore waits for nothing.
	Pinned bool
	// Newest is the newest revision of all, which is shown as pending while it waits.
	Newest string
	// Base becomes stable, without a rollout, in a policy that has no stable revision.
	Base string
	// Settled says that nothing was edited for a while. A rollout begins only then, so that a long `kubectl apply` is one of them.
	Settled bool
	// Stopped says that no further node is admitted at present, because the policy is paused, for example.
	Stopped bool
	// Touches says that Revision changes something that the target changed, too.
	Touches bool
	// Policy tells whether the rollout of the target is halted.
	Policy Policy
}

// Aim returns the state with the goal that it is to have. It moves no node.
//
// Another revision takes the place of a target at once if that target gets no further anyway (see stuck), if it touches what the target
// changed, as a fix must not wait while the fault spreads, if it is the stable revision, so that nodes go back, or if it is pinned. Otherwise it waits until the
// target is completed: a stream of edits would keep each of them from ever being completed.
func Aim(s State, w Wanted, now time.Time) State {
	s = s.clone()
	s.Stable = cmp.Or(s.Stable, w.Base)
	if s.Stable != "" && w.Settled && w.Revision != "" && w.Revision != s.Goal() && replaceable(s, w) {
		if s.Target != "" {
			s = s.end(outcomeOf(s), now)
		}
		s = s.begin(w.Revision, now)
	}
	if s.Pending = cmp.Or(w.Newest, w.Revision); s.Pending == s.Goal() {
		s.Pending = ""
	}
	return s
}

func replaceable(s State, w Wanted) bool {
	return s.Target == "" || w.Pinned || w.Stopped || w.Touches || w.Revision == s.Stable || s.Halted(w.Policy) || stuck(s)
}

// stuck reports whether no node has proven the target, and none is about to: nobody was admitted, or those who were failed or could not try it.
func stuck(s State) bool {
	return s.Nodes.Proven == 0 && s.Nodes.Admitted == s.Nodes.Failed && len(s.Admitting) == 0
}

// outcomeOf returns the outcome of a target that is replaced. It is Unproven if it affected nodes and none of them could try it.
func outcomeOf(s State) v1alpha1.RolloutOutcome {
	if stuck(s) && s.Nodes.Failed == 0 && s.Nodes.Affected > 0 && s.Nodes.Affected == s.Nodes.Excluded {
		return v1alpha1.RolloutUnproven
	}
	return v1alpha1.RolloutReplaced
}

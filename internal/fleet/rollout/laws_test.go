package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
	"github.com/fettle-dev/fettle/test/fixtures/budget"
)

// randomInput returns an input that a reconciliation could have, and some that it could not.
func randomInput(random *rand.Rand) rollout.Input {
	half := func() bool { return random.IntN(2) == 0 }
	seldom := func() bool { return random.IntN(6) == 0 }
	in := rollout.Input{Policy: randomPolicy(random), State: rollout.State{Stable: "old"}, Stopped: seldom(), Now: noon.Add(time.Duration(random.IntN(20)) * time.Minute)}
	switch random.IntN(4) {
	case 0:
	case 1:
		in.State.Target, in.State.Started = "old", noon
	default:
		in.State.Target, in.State.Started = "new", noon
	}
	if seldom() {
		in.State.History = []v1alpha1.RolloutRecord{{Revision: "new", Outcome: v1alpha1.RolloutCompleted}}
	}
	phases := []rollout.Phase{rollout.Applying, rollout.Soaking, rollout.Proven, rollout.Proven, rollout.Untried, rollout.Excluded}
	if seldom() {
		phases = append(phases, rollout.Failed)
	}
	for i := range random.IntN(40) {
		n := node(fmt.Sprintf("n%02d", i), zone(fmt.Sprint(random.IntN(3))), group(fmt.Sprint(random.IntN(3))))
		n.Affected, n.ControlPlane, n.Abandoned, n.Joined = half(), seldom(), seldom(), seldom()
		n.Silent, n.Disabled, n.Leaving, n.NotReady = seldom(), seldom(), seldom(), seldom()
		n.Revision, n.Since = "old", noon.Add(time.Duration(random.IntN(20)-10)*time.Minute)
		if half() {
			is(phases[random.IntN(len(phases))])(&n)
			n.Abandoned = false
		} else if seldom() && n.Affected {
			in.State.Admitting = append(in.State.Admitting, n.Name)
		}
		in.Nodes = append(in.Nodes, n)
	}
	return in
}

// lawful calls a law with many random inputs.
func lawful(t *testing.T, law func(in rollout.Input, random *rand.Rand) string) {
	t.Helper()
	random := budget.Random(t)
	for i := range budget.Events(t, 1000, 20_000) {
		in := randomInput(random)
		if problem := law(in, random); problem != "" {
			t.Fatalf("input %d, %+v: %s", i, in, problem)
		}
	}
}

// admitted returns the nodes that a decision admits.
func admitted(in rollout.Input) []string { return without(rollout.Next(in).Admit, in.State.Admitting) }

func TestADecisionIsMadeOnce(t *testing.T) {
	t.Parallel()

	lawful(t, func(in rollout.Input, _ *rand.Rand) string {
		first := rollout.Next(in)
		if first.Completed {
			return ""
		}
		in.State = first.State
		return cmp.Diff(first, rollout.Next(in))
	})
}

func TestTheOrderOfNodesDoesNotMatter(t *testing.T) {
	t.Parallel()

	lawful(t, func(in rollout.Input, random *rand.Rand) string {
		want := rollout.Next(in)
		in.Nodes = slices.Clone(in.Nodes)
		random.Shuffle(len(in.Nodes), func(i, j int) { in.Nodes[i], in.Nodes[j] = in.Nodes[j], in.Nodes[i] })
		return cmp.Diff(want, rollout.Next(in))
	})
}

func TestADecisionChangesNothingThatItIsGiven(t *testing.T) {
	t.Parallel()

	lawful(t, func(in rollout.Input, _ *rand.Rand) string {
		before := in
		before.Nodes, before.State = slices.Clone(in.Nodes), rollout.StateOf(statusOf(in.State))
		rollout.Next(in)
		return cmp.Diff(before, in)
	})
}

func statusOf(s rollout.State) (status v1alpha1.RolloutPolicyStatus) {
	s.Apply(&status)
	return status
}

func TestAStoppedOrHaltedPolicyAdmitsNoFurtherNode(t *testing.T) {
	t.Parallel()

	lawful(t, func(in rollout.Input, _ *rand.Rand) string {
		d := rollout.Next(in)
		if further := without(d.Admit, in.State.Admitting); len(further) > 0 && (d.Halted || in.Stopped) {
			return fmt.Sprintf("%v are admitted", further)
		}
		return ""
	})
}

func TestAClockThatIsSetBackAdmitsNoFurtherNode(t *testing.T) {
	t.Parallel()

	lawful(t, func(in rollout.Input, random *rand.Rand) string {
		now := len(admitted(in))
		in.Now = in.Now.Add(-time.Duration(random.IntN(60)) * time.Minute)
		if before := len(admitted(in)); before > now {
			return fmt.Sprintf("%d nodes are admitted instead of %d", before, now)
		}
		return ""
	})
}

func TestALostTimerAdmitsNoFurtherNode(t *testing.T) {
	t.Parallel()

	lawful(t, func(in rollout.Input, random *rand.Rand) string {
		if in.State.Target == "" {
			return ""
		}
		now := len(admitted(in))
		in.Nodes = slices.Clone(in.Nodes)
		for i := range in.Nodes {
			if n := &in.Nodes[i]; n.Phase == rollout.Proven && random.IntN(2) == 0 {
				n.Phase = rollout.Soaking
			}
		}
		if without := len(admitted(in)); without > now {
			return fmt.Sprintf("%d nodes are admitted instead of %d", without, now)
		}
		return ""
	})
}

func TestAdmittedNodesAreWithinTheLimits(t *testing.T) {
	t.Parallel()

	lawful(t, func(in rollout.Input, _ *rand.Rand) string {
		d := rollout.Next(in)
		n := d.State.Nodes
		if in.State.Target == "" || len(without(d.Admit, in.State.Admitting)) == 0 || d.State.Completed(d.State.Goal()) {
			return ""
		}
		p, affected, all := in.Policy, int(n.Affected), int(n.Admitted)
		if open := all - int(n.Proven+n.Failed); open > p.MaxInFlightOf(affected) || all > max(p.FirstOf(affected)+int(n.Failed), 4*int(n.Proven)) {
			return fmt.Sprintf("%+v", n)
		}
		return ""
	})
}

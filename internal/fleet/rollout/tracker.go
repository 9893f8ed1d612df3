package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// failureGrace is how long a failure must last until it counts: a service that restarts is not broken.
const failureGrace = time.Minute

// A Tracker remembers since when nodes are well, fail, and have not applied what they have. The zero value remembers nothing. It is not safe
// for concurrent use.
type Tracker struct{ nodes map[string]*timers }

// timers has times by the clock of the manager; zero where something is not so at present.
type timers struct {
	digest                               string // to which they belong
	unapplied, failing, notReady, soaked time.Time
	open                                 time.Time // since the node has the goal and has not proven it, whatever its digest
	silentBefore                         bool      // since before the node had the goal
	heard                                bool      // with the goal, so that it cannot have been silent before
	sound                                bool      // nothing failed with the goal: clocks may say that it began to before
	ready                                bool      // the Node was Ready with the goal: clocks may say that it was not
}

// Observe takes in an observation, and returns how far the node has come. Each reconciliation observes each node once.
//
// A change of facts gives a node another spec of the same revision. Its timers begin again, so that it has the whole time to apply it.
func (t *Tracker) Observe(o Observation, p Policy, now time.Time) Node {
	if t.nodes == nil {
		t.nodes = map[string]*timers{}
	}
	k := t.nodes[o.Name]
	if k == nil {
		k = &timers{}
		t.nodes[o.Name] = k
	}
	k.observe(o, now)
	n := k.phase(o, p, now)
	if n.Phase == Proven || n.Phase == Untried {
		k.open = time.Time{}
	}
	if n.Phase == Failed && o.Leaving {
		return Node{Observation: o, Phase: Excluded, Message: "is being removed"}
	}
	return n
}

// Forget gives a node the whole time again.
func (t *Tracker) Forget(node string) { delete(t.nodes, node) }

// Retain forgets the nodes that do not exist.
func (t *Tracker) Retain(exists func(node string) bool) {
	maps.DeleteFunc(t.nodes, func(node string, _ *timers) bool { return !exists(node) })
}

func (k *timers) observe(o Observation, now time.Time) {
	if k.digest != o.Digest {
		*k = timers{digest: o.Digest, silentBefore: k.silentBefore, heard: k.heard, open: k.open}
	}
	k.listen(o)
	k.sound = k.sound || o.hasApplied() && o.Failing == ""
	k.ready = k.ready || o.AtGoal && !o.NotReady
	k.time(o, now)
}

// listen tells agents that were silent before from those that the goal silences.
func (k *timers) listen(o Observation) {
	k.heard = o.AtGoal && (k.heard || !o.Silent)
	k.silentBefore = o.Silent && !k.heard && (k.silentBefore || !o.AtGoal || o.wasSilent())
}

// failsNewly and lostReady do not ask clocks what the process itself has seen.
func (k *timers) failsNewly(o Observation) bool { return o.failsNewly() || o.Failing != "" && k.sound }

func (k *timers) lostReady(o Observation) bool { return o.lostReady() || o.NotReady && k.ready }

// time starts and stops the timers. None runs while the node is not heard.
func (k *timers) time(o Observation, now time.Time) {
	if o.Silent || o.Disabled {
		k.unapplied, k.failing, k.notReady, k.soaked, k.open = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
		return
	}
	fails, notReady := k.failsNewly(o), k.lostReady(o)
	run(&k.open, o.AtGoal && o.Digest != "", now)
	run(&k.unapplied, !o.Applied, now)
	run(&k.failing, fails || o.Refused != "", now)
	run(&k.notReady, notReady, now)
	run(&k.soaked, o.hasApplied() && !fails && !notReady && !o.Unrepaired, now)
}

// run starts a timer, leaves it running, or stops it. A timer that would have started in the future, because the clock was set back, starts
// again.
func run(timer *time.Time, on bool, now time.Time) {
	switch {
	case !on:
		*timer = time.Time{}
	case timer.IsZero() || timer.After(now):
		*timer = now
	}
}

func (k *timers) phase(o Observation, p Policy, now time.Time) Node {
	n := Node{Observation: o}
	switch {
	case !o.AtGoal && o.Refused != "":
		return k.progress(n, p, now)
	case !o.AtGoal:
		n.Phase, n.Message = Waiting, why(o)
	case o.Disabled || o.Silent && k.silentBefore:
		n.Phase, n.Message = Excluded, why(o)
	case o.Silent:
		n.Phase, n.Reason, n.Message = Failed, v1alpha1.RolloutNodeSilent, why(o)
	default:
		return k.progress(n, p, now)
	}
	return n
}

// progress returns how far a node has come that has the goal and is heard.
func (k *timers) progress(n Node, p Policy, now time.Time) Node {
	for _, limit := range []struct {
		since  time.Time
		after  time.Duration
		reason string
	}{
		{k.failing, failureGrace, v1alpha1.RolloutNodeFailed},
		{k.notReady, failureGrace, v1alpha1.RolloutNodeNotReady},
		{k.unapplied, p.Timeout, v1alpha1.RolloutNodeTimedOut},
	} {
		if limit.since.IsZero() {
			continue
		}
		if left := limit.since.Add(limit.after).Sub(now); left > 0 {
			n.Changes = earliest(n.Changes, left)
			continue
		}
		n.Phase, n.Reason, n.Message, n.Changes = Failed, limit.reason, explain(limit.reason, n.Observation, p), 0
		return n
	}
	return k.settle(k.soak(n, p, now), p, now)
}

// settle has a node fail that stays undecided: one that fails and recovers again and again, or gets another spec before it has proven the last.
func (k *timers) settle(n Node, p Policy, now time.Time) Node {
	if n.Phase != Applying && n.Phase != Soaking || k.open.IsZero() {
		return n
	}
	most := p.Timeout + 2*p.Soak
	if left := k.open.Add(most).Sub(now); left > 0 {
		n.Changes = earliest(n.Changes, left)
		return n
	}
	n.Phase, n.Reason, n.Changes = Failed, v1alpha1.RolloutNodeTimedOut, 0
	n.Message = fmt.Sprintf("was not well for %s at a time within %s", p.Soak, most)
	return n
}

func explain(reason string, o Observation, p Policy) string {
	switch reason {
	case v1alpha1.RolloutNodeTimedOut:
		return fmt.Sprintf("has not applied it within %s", p.Timeout)
	case v1alpha1.RolloutNodeNotReady:
		return "the Node is not Ready"
	}
	return cmp.Or(o.Refused, o.Failing)
}

// soak returns how far a node has come that does not fail.
func (k *timers) soak(n Node, p Policy, now time.Time) Node {
	switch left := k.soaked.Add(p.Soak).Sub(now); {
	case !n.Applied:
		n.Phase, n.Message = Applying, why(n.Observation)
	case k.soaked.IsZero():
		n.Phase, n.Message = Soaking, why(n.Observation)
	case n.Untried:
		n.Phase, n.Message = Untried, "skips or only reports what changes"
	case left > 0:
		n.Phase, n.Changes = Soaking, earliest(n.Changes, left)
	default:
		n.Phase = Proven
	}
	return n
}

// earliest returns the shorter time; 0 is never.
func earliest(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}

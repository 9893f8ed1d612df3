package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// A fault is what a bad change does.
type fault struct {
	what    string
	percent int           // of the nodes that it breaks
	after   time.Duration // it was applied
	silent  bool          // agents are not heard any more, instead of reporting that a resource failed
}

var faults = []fault{
	{"fails at once on every node", 100, 0, false},
	{"fails after 110 s on every node", 100, 110 * time.Second, false},
	{"fails after 5 min on every node", 100, 5 * time.Minute, false},
	{"disconnects every node at once", 100, heartbeat.DefaultLeaseDuration, true},
	{"fails at once on 50 % of the nodes", 50, 0, false},
	{"fails at once on 10 % of the nodes", 10, 0, false},
	{"fails at once on 3 % of the nodes", 3, 0, false},
}

// A hit is how far a bad change got.
type hit struct {
	fault
	nodes  []int           // that got it, by try
	halted []time.Duration // since the first node got it; shorter than nodes if a rollout was completed in spite of the fault
}

// hits makes each bad change several times, with the default policy.
func hits(nodes, tries int) []hit {
	all := make([]hit, len(faults))
	for i, f := range faults {
		all[i].fault = f
		for try := range tries {
			b := newBadChange(f, nodes, uint64(try)) //nolint:gosec // small
			halted := b.run()
			all[i].nodes = append(all[i].nodes, len(b.moved))
			if halted {
				all[i].halted = append(all[i].halted, b.now.Sub(b.began))
			}
		}
	}
	return all
}

const (
	// step is the minimum time between two writes of a policy's status.
	step = 5 * time.Second
	// applies is how long a node takes to apply what it gets.
	applies = 5 * time.Second
)

// A badChange is the rollout of one. Its clock is its own; decisions are those of the manager.
type badChange struct {
	fault
	state      rollout.State
	tracker    rollout.Tracker
	names      []string
	bad        map[string]bool
	moved      map[string]time.Time // nodes that got it
	began, now time.Time
}

func newBadChange(f fault, nodes int, seed uint64) *badChange {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	// Which nodes are the first depends on the name of the revision, and which are bad on the seed.
	b := &badChange{fault: f, bad: map[string]bool{}, moved: map[string]time.Time{}, began: began, now: began}
	b.state = rollout.State{Stable: "good", Target: fmt.Sprintf("bad %d", seed), Started: began}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // has to be reproducible
	for i, at := range random.Perm(nodes) {
		name := fmt.Sprintf("node-%04d", at)
		b.names, b.bad[name] = append(b.names, name), i*100 < f.percent*nodes
	}
	return b
}

// run rolls it out until that halts or is completed, and reports whether it halted.
func (b *badChange) run() (halted bool) {
	policy := rollout.PolicyOf(v1alpha1.RolloutPolicySpec{})
	for ; ; b.now = b.now.Add(step) {
		nodes := make([]rollout.Node, len(b.names))
		for i, name := range b.names {
			nodes[i] = b.tracker.Observe(b.observe(name), policy, b.now)
		}
		d := rollout.Next(rollout.Input{Policy: policy, State: b.state, Nodes: nodes, Now: b.now})
		if d.Halted || d.Completed {
			return d.Halted
		}
		b.state = d.State
		for _, name := range d.Admit {
			b.moved[name] = b.now
		}
	}
}

func (b *badChange) observe(name string) rollout.Observation {
	since, atGoal := b.moved[name]
	o := rollout.Observation{Name: name, Affected: true, AtGoal: atGoal, Revision: b.state.Stable, Digest: b.state.Stable, Applied: true}
	if !atGoal {
		return o
	}
	o.Revision, o.Digest, o.Since, o.Applied = b.state.Target, b.state.Target, since, b.now.Sub(since) >= applies
	if broken := b.bad[name] && b.now.Sub(since) >= applies+b.after; broken && b.silent {
		o.Silent = true
	} else if broken {
		o.Failing, o.FailingNew = "a resource failed", true
	}
	return o
}

// spread returns the median and the maximum of numbers, as "1, at most 4"; "-" if there are none.
func spread[T int | time.Duration](all []T, show func(T) string) string {
	if len(all) == 0 {
		return "-"
	}
	median, most := show(bench.Median(all)), show(bench.At(all, 1))
	if median == most {
		return median
	}
	return median + ", at most " + most
}

package rollout_test

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

// A manager is a process that acts on what it saw some time ago. Each of its steps is one read or write, so that others act in between.
type manager struct {
	*world
	checker *checker
	fault   fault
	lag     time.Duration // of its clock
	view    view
	tracker *rollout.Tracker
	seen    *observer // what the checker knows of what this manager saw
	moves   []move    // that it has yet to make
}

// A view is what a manager has read.
type view struct {
	object object
	nodes  []machine
	newest int
	at     time.Duration
	edited time.Duration
}

type move struct {
	machine
	revision int
}

func (m *manager) now() time.Time { return m.clock().Add(-m.lag) }

// restart begins without memory, and reads everything.
func (m *manager) restart() {
	m.tracker, m.seen, m.moves = &rollout.Tracker{}, &observer{}, nil
	m.checker.restarted(m)
	m.refresh()
	m.view.object = m.policy
}

// refresh reads nodes and revisions. The manager reads the policy only if a write fails: until then it is the one that it wrote.
func (m *manager) refresh() {
	m.view.nodes = m.view.nodes[:0]
	for _, n := range m.nodes {
		if !n.elsewhere {
			m.view.nodes = append(m.view.nodes, *n)
		}
	}
	m.view.newest, m.view.at, m.view.edited = m.newest, m.elapsed, m.edited
}

// step makes the next move, or decides and writes the status.
func (m *manager) step() {
	if len(m.moves) > 0 {
		next := m.moves[0]
		m.moves = m.moves[1:]
		m.moveNode(next)
		return
	}
	if m.random.IntN(3) > 0 {
		m.refresh()
	}
	m.reconcile()
}

func (m *manager) moveNode(next move) {
	at := rollout.StateOf(m.view.object.status).Since(m.now())
	if !m.move(next.machine, next.revision, at) {
		m.moves = nil
		m.refresh()
		return
	}
	m.checker.moved(m, next)
}

func (m *manager) reconcile() {
	before := m.view.object
	d := m.decide()
	after := before.status
	d.State.Apply(&after)
	if m.fault.movesFirst {
		m.enqueue(d)
		return
	}
	if len(d.Admit) > 0 || !equality.Semantic.DeepEqual(before.status, after) {
		if before.version != m.policy.version && !m.fault.ignoresConflicts {
			m.refresh()
			m.view.object = m.policy
			if m.fault.movesAfterConflict {
				m.enqueue(d)
			}
			return
		}
		m.checker.wrote(m, m.policy, after)
		m.policy.status = after
		m.policy.version++
		m.view.object = m.policy
	}
	m.enqueue(d)
}

// enqueue plans the writes of nodes: those that are admitted, and those that have no spec yet.
func (m *manager) enqueue(d rollout.Decision) {
	for _, n := range m.view.nodes {
		switch {
		case slices.Contains(d.Admit, n.name):
			m.moves = append(m.moves, move{n, number(d.State.Goal())})
		case n.revision < 0 && m.fault.joinsGetTarget:
			m.moves = append(m.moves, move{n, number(d.State.Goal())})
		case n.revision < 0:
			m.moves = append(m.moves, move{n, number(d.State.Stable)})
		}
	}
	if m.fault.movesNothing {
		m.moves = nil
	}
}

func (m *manager) decide() rollout.Decision {
	state := change(m.fault.read, rollout.StateOf(m.view.object.status))
	aimed := rollout.Aim(state, m.wanted(state), m.now())
	if m.fault.aimed != nil {
		m.fault.aimed(state, &aimed)
	}
	in := rollout.Input{Policy: m.limits, State: aimed, Stopped: m.view.object.paused, Now: m.now()}
	m.seen.observe(m, aimed)
	limits := change(m.fault.tracker, m.limits)
	for _, n := range m.view.nodes {
		in.Nodes = append(in.Nodes, change(m.fault.node, m.tracker.Observe(m.observation(n, aimed), limits, m.now())))
	}
	m.tracker.Retain(func(node string) bool {
		return slices.ContainsFunc(m.view.nodes, func(n machine) bool { return n.name == node })
	})
	d := rollout.Next(change(m.fault.input, in))
	if m.fault.decided != nil {
		m.fault.decided(&d, in)
	}
	return d
}

func (m *manager) wanted(s rollout.State) rollout.Wanted {
	newest := name(m.view.newest)
	w := rollout.Wanted{
		Revision: newest, Newest: newest, Base: newest, Settled: m.view.at-m.view.edited >= 10*time.Second,
		Stopped: m.view.object.paused, Touches: m.touches(s), Policy: m.limits,
	}
	return change(m.fault.wanted, w)
}

func (m *manager) touches(s rollout.State) bool {
	if s.Target == "" {
		return false
	}
	stable, target, newest := m.revisions[number(s.Stable)], m.revisions[number(s.Target)], m.revisions[m.view.newest]
	for g := range groups {
		if stable[g] != target[g] && target[g] != newest[g] {
			return true
		}
	}
	return false
}

func (m *manager) observation(n machine, s rollout.State) rollout.Observation {
	digest := func(revision int) string {
		return strconv.Itoa(m.revisions[revision][n.group]) + "/" + strconv.Itoa(n.facts)
	}
	spec := rollout.Spec{Exists: n.revision >= 0, Goal: digest(number(s.Goal())), Stable: digest(number(s.Stable))}
	if spec.Exists {
		spec.Digest, spec.Revision, spec.Known = digest(n.revision), name(n.revision), true
		spec.Recorded = spec.Digest
	}
	at := rollout.Locate(s, spec)
	o := rollout.Observation{
		Name: n.name, Zone: n.zone, Group: strconv.Itoa(n.group), ControlPlane: n.controlPlane,
		Affected: at.Affected, AtGoal: at.AtGoal, Abandoned: at.Abandoned, Revision: spec.Revision, Since: n.recorded, Joined: n.created,
		Digest: spec.Digest, Applied: n.applied, Silent: n.silent, Disabled: n.disabled, Leaving: n.leaving,
		NotReady: !n.notReady.IsZero(), NotReadySince: n.notReady, Untried: n.noop,
	}
	if !n.failing.IsZero() {
		o.Failing, o.FailingNew = "File/a: no space", n.symptomOf || !n.failing.Before(n.recorded)
	}
	return o
}

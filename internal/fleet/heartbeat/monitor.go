// Package heartbeat tells from Leases which agents are silent.
//
// Each agent renews the Lease of its node. The manager judges by its own clock, as the clock
// of a node may be wrong: a renewal counts from when it was seen, and the time that the agent
// writes only tells one renewal from another. An agent whose Lease expires
// is overdue. It is silent only once the API server has answered a probe, since an API server
// that is away keeps every agent from renewing.
package heartbeat

import (
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DefaultLeaseDuration is the time after which an agent without a heartbeat is silent. Agents
// renew after two thirds of it.
const DefaultLeaseDuration = time.Minute

// A Monitor knows the last heartbeat of each node. The zero value knows none. It is safe for
// concurrent use.
type Monitor struct {
	mu          sync.Mutex
	leases      map[string]lease // by node
	unreachable time.Time        // when the API server last failed to answer, or first answered after that
	away        bool             // the API server did not answer the last probe
}

type lease struct {
	renewed  time.Time     // in the agent's words, to recognize a renewal
	seen     time.Time     // when the manager saw it
	duration time.Duration // as the Lease says
	owner    types.UID     // of the Node
	silent   bool          // until the next heartbeat
	last     time.Time     // the heartbeat before a silence
}

// Observe takes in a Lease, and reports whether a silent node is heard again. A Lease that is
// seen for the first time lasts for a whole duration from now: it may have been the API server
// that was away.
func (m *Monitor) Observe(l *coordinationv1.Lease, now time.Time) (back bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := newLease(l)
	was, known := m.leases[l.Name]
	if known && is.renewed.Equal(was.renewed) {
		is.seen, is.silent, is.last = was.seen, was.silent, was.last
	} else {
		is.seen, back = now, was.silent
	}
	if m.leases == nil {
		m.leases = map[string]lease{}
	}
	m.leases[l.Name] = is
	return back
}

func newLease(l *coordinationv1.Lease) lease {
	is := lease{renewed: l.CreationTimestamp.Time, duration: DefaultLeaseDuration}
	if t := l.Spec.RenewTime; t != nil {
		is.renewed = t.Time
	}
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		is.duration = time.Duration(*s) * time.Second
	}
	for _, o := range l.OwnerReferences {
		is.owner = o.UID
	}
	return is
}

// Forget removes a node.
func (m *Monitor) Forget(node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.leases, node)
}

// Unreachable notes that the API server does not answer a probe. Every agent that is not silent yet
// gets a whole lease duration from now.
func (m *Monitor) Unreachable(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unreachable, m.away = now, true
}

// Reachable notes that the API server answers a probe. If it did not answer the last one, that ends only now.
func (m *Monitor) Reachable(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		m.unreachable, m.away = now, false
	}
}

// deadline is when a lease becomes overdue.
func (m *Monitor) deadline(l lease) time.Time {
	since := l.seen
	if m.unreachable.After(since) {
		since = m.unreachable
	}
	return since.Add(l.duration)
}

// Overdue returns the nodes whose Lease has expired and that are not silent yet, sorted.
func (m *Monitor) Overdue(now time.Time) (nodes []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, node := range slices.Sorted(maps.Keys(m.leases)) {
		if l := m.leases[node]; !l.silent && !now.Before(m.deadline(l)) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// SetSilent marks nodes as silent until their next heartbeat.
func (m *Monitor) SetSilent(nodes []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, node := range nodes {
		if l, known := m.leases[node]; known {
			l.silent, l.last = true, l.seen
			m.leases[node] = l
		}
	}
}

// Silent reports whether a node is silent. A node without a Lease is not.
func (m *Monitor) Silent(node string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leases[node].silent
}

// A Silence is the silence of one agent.
type Silence struct {
	// For is the time since its Lease expired, by the manager's clock.
	For time.Duration
	// Duration is the duration of its Lease.
	Duration time.Duration
	// With is the number of silent agents whose last heartbeat was within Together of its own, itself included.
	With int
}

// Together is the longest time between the last heartbeats of agents that fell silent at once.
const Together = 10 * time.Minute

// Silences returns the silent nodes.
func (m *Monitor) Silences(now time.Time) map[string]Silence {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]Silence{}
	var last []time.Time
	for node, l := range m.leases {
		if l.silent {
			all[node] = Silence{For: max(now.Sub(m.deadline(l)), 0), Duration: l.duration}
			last = append(last, l.last)
		}
	}
	slices.SortFunc(last, time.Time.Compare)
	for node, s := range all {
		at := m.leases[node].last
		from, _ := slices.BinarySearchFunc(last, at.Add(-Together), time.Time.Compare)
		to, _ := slices.BinarySearchFunc(last, at.Add(Together+1), time.Time.Compare)
		s.With = to - from
		all[node] = s
	}
	return all
}

// SilentSince returns the time of a silent node's last heartbeat, as the agent wrote it, in RFC 3339, or "".
// marked is the former answer: a manager that starts learns from it that the node is silent, unless there has
// been a heartbeat since.
func (m *Monitor) SilentSince(node, marked string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, known := m.leases[node]
	if !known {
		return ""
	}
	last := l.renewed.UTC().Format(time.RFC3339)
	if marked == last && !l.silent {
		l.silent, l.last = true, l.renewed // only the agent's clock knows when that was
		m.leases[node] = l
	}
	if l.silent {
		return last
	}
	return ""
}

// Needed returns the nodes that have no Lease, and those whose Lease has another duration,
// sorted. nodes has the UIDs of the Nodes; the Lease of a former Node is left to the garbage
// collector.
func (m *Monitor) Needed(nodes map[string]types.UID, duration time.Duration) (missing, outdated []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		switch l, known := m.leases[node]; {
		case !known:
			missing = append(missing, node)
		case l.duration != duration && l.owner == nodes[node]:
			outdated = append(outdated, node)
		}
	}
	return missing, outdated
}

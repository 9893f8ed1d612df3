//go:build rare

// Package chaos_test interrupts the manager, the API server and etcd of a fleet during changes.
//
// All of them are the real programs, and so are the agents, whose hosts are in memory. The result of a change is compared
// with that of a separate compiler for the same input. Each run logs its seed; make chaos is
// the long one.
package chaos_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestFleetConvergesDespiteFailures(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	w := newWorld(t)
	t.Run("the manager is killed", w.killManagers)
	t.Run("the leading manager is killed", w.killLeaders)
	t.Run("the API server is killed", w.killAPIServers)
	t.Run("etcd is paused", w.stopEtcd)
	t.Run("etcd is paused, without leader election", w.stopEtcdOfOne)
}

// after returns a random moment within the duration of an undisturbed change.
func (w *world) after(most time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(most)))
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// A pace is the duration of an undisturbed change, until the last patch of a NodeCatalog, and until the last write of a
// status.
type pace struct{ patched, told time.Duration }

// measure makes an undisturbed change.
func (w *world) measure(t *testing.T, number int, c change) pace {
	t.Helper()
	n := w.begin(t, number, c)
	if n.end(t) > 0 {
		t.Errorf("%s: NodeCatalogs were patched twice without a disturbance", c.what)
	}
	var p pace
	statuses := 0
	for _, r := range w.requests.since(n.mark) {
		switch {
		case !r.won() || r.verb != "patch":
		case r.about == "nodecatalogs":
			p.patched = r.at.Sub(n.made)
		case r.about == "files/status":
			statuses++
			p.told = r.at.Sub(n.made)
		case r.about == "nodecatalogs/status":
			p.told = r.at.Sub(n.made)
		}
	}
	t.Logf("undisturbed, %s reaches %d NodeCatalogs in %s, and the last of %d statuses of resources is written after %s",
		c.what, len(patched(w.requests.since(n.mark))), p.patched.Round(time.Millisecond), statuses, p.told.Round(time.Millisecond))
	return p
}

// A tally counts interruptions by moment.
type tally struct{ before, during, past int }

func (c *tally) count(n *turn, nodes int) {
	switch did := len(patched(n.requests.since(n.mark))); {
	case did == 0:
		c.before++
	case did < nodes:
		c.during++
	default:
		c.past++
	}
}

func (w *world) killManagers(t *testing.T) {
	m := w.manager(t, "manager")
	must(t, m.Start())
	w.settled(t)
	w.unknown.Store(0) // agents that have never run count as unknown
	changes := w.changes()
	paces := make([]pace, len(changes))
	for i, c := range changes {
		paces[i] = w.measure(t, i, c)
	}
	var came tally
	total, most := 0, 0
	for i := range w.kills {
		// Four of five affect every node.
		which := i % 5
		if which == 4 && i%10 == 9 {
			which = 5
		}
		// Half of them come while NodeCatalogs are written, which is a small part of a change.
		moment := w.after(paces[which].told)
		if i%2 == 1 {
			moment = w.after(paces[which].patched)
		}
		n := w.begin(t, len(changes)+i, changes[which])
		wait(t.Context(), moment)
		m.Kill()
		came.count(n, w.about(which))
		t.Logf("kill %d: %s, after %s, %d NodeCatalogs patched", i, n.what, moment.Round(time.Millisecond), len(patched(w.requests.since(n.mark))))
		must(t, m.Start())
		twice := n.end(t)
		total, most = total+twice, max(most, twice)
	}
	t.Logf("%d kills: %d before the first NodeCatalog was patched, %d before the last, %d after it; %d NodeCatalogs were patched twice, at most %d after one kill",
		w.kills, came.before, came.during, came.past, total, most)
	w.checkUnknown(t)
}

// about returns the number of nodes that a change affects.
func (w *world) about(which int) int {
	switch which {
	case 4:
		return w.nodes / groups
	case 5:
		return 1
	}
	return w.nodes
}

func (w *world) checkUnknown(t *testing.T) {
	t.Helper()
	n, still := w.unknown.Swap(0), time.Duration(w.still.Swap(0))
	switch {
	case n == 0:
	case still > w.lease/6: // renewals come at two thirds of a Lease, and are repeated if they fail
		t.Logf("up to %d nodes counted as unknown, because the machine stood still for %s", n, still)
	default:
		t.Errorf("up to %d nodes counted as unknown, although all agents were running", n)
	}
}

// elect returns the flags of managers with leader election.
var elect = []string{"-leader-elect", "-leader-elect-namespace", "fettle-system"}

func (w *world) killLeaders(t *testing.T) {
	leads, waits := w.manager(t, "first", elect...), w.manager(t, "second", elect...)
	must(t, leads.Start())
	c := w.changes()[0]
	took := w.measure(t, 1000, c)
	total, most := 0, 0
	var longest time.Duration
	for i := range w.turns {
		mark := w.requests.mark()
		must(t, waits.Start())
		w.until(t, "the second manager waits to be elected", func() bool { return w.waits(mark) })
		moment := w.after(took.patched)
		n := w.begin(t, 1001+i, c)
		wait(t.Context(), moment)
		leads.Kill()
		killed := time.Now()
		did := len(patched(w.requests.since(n.mark)))
		twice := n.end(t)
		longest = max(longest, time.Since(killed))
		total, most = total+twice, max(most, twice)
		t.Logf("takeover %d: after %s, %d NodeCatalogs patched, all done %s later", i, moment.Round(time.Millisecond), did, time.Since(killed).Round(100*time.Millisecond))
		leads, waits = waits, leads
	}
	t.Logf("%d takeovers: all done at most %s later; %d NodeCatalogs were patched twice, at most %d of one change", w.turns, longest.Round(100*time.Millisecond), total, most)
	w.checkUnknown(t)
}

// waits reports whether a manager has read the leader Lease since a mark. The leader does not read it.
func (w *world) waits(mark int) bool {
	return slices.ContainsFunc(w.requests.since(mark), func(r request) bool {
		return r.who == "" && r.verb == "get" && r.about == "leases" && r.name == "fettle-manager"
	})
}

func (w *world) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	began := time.Now()
	for !holds() {
		if wait(t.Context(), 50*time.Millisecond); time.Since(began) > limit {
			t.Fatalf("not after %s: %s", limit, what)
		}
	}
}

// pair returns two managers, as in the Deployment, which are restarted when they end.
func (w *world) pair(t *testing.T) []*manager {
	t.Helper()
	all := []*manager{w.manager(t, "first", elect...), w.manager(t, "second", elect...)}
	for _, m := range all {
		must(t, m.Start())
		m.keep(t)
	}
	w.until(t, "one of them leads", func() bool { return w.leader(t) != "" })
	return all
}

// leader returns the identity of the leader, or "".
func (w *world) leader(t *testing.T) string {
	t.Helper()
	var l coordinationv1.Lease
	must(t, client.IgnoreNotFound(w.admin.Get(t.Context(), types.NamespacedName{Namespace: "fettle-system", Name: "fettle-manager"}, &l)))
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func ends(all []*manager) (n int32) {
	for _, m := range all {
		n += m.ends.Load()
	}
	return n
}

func (w *world) killAPIServers(t *testing.T) {
	managers := w.pair(t)
	c := w.changes()[0]
	took := w.measure(t, 2000, c)
	var largest wave
	total := 0
	for i := range w.turns {
		n := w.begin(t, 2001+i, c)
		wait(t.Context(), w.after(took.told))
		w.interrupted.Store(true)
		w.plane.APIServer.Kill()
		did := len(patched(w.requests.since(n.mark)))
		away := time.Second + w.after(w.outage)
		wait(t.Context(), away)
		mark, back := w.requests.mark(), time.Now()
		must(t, w.plane.APIServer.Start())
		must(t, w.plane.Ready(t.Context()))
		w.interrupted.Store(false)
		total += n.end(t)
		took := time.Since(back)
		wait(t.Context(), w.lease) // every agent renews its Lease
		is := waveOf(w.requests.since(mark), back)
		t.Logf("API server away for %s with %d NodeCatalogs patched: all done %s after it was started again; at most %d requests came in a second, after %s, %d of the manager and %d of an agent for one kind of object",
			away.Round(100*time.Millisecond), did, took.Round(100*time.Millisecond), is.all, is.after, is.manager, is.agent)
		w.checkWave(t, is)
		largest = wave{all: max(largest.all, is.all), manager: max(largest.manager, is.manager), agent: max(largest.agent, is.agent)}
	}
	t.Logf("%d restarts: at most %d requests in a second, %d of the manager and %d of an agent for one kind of object; managers ended %d times; %d NodeCatalogs were patched twice",
		w.turns, largest.all, largest.manager, largest.agent, ends(managers), total)
	w.checkUnknown(t)
}

func (w *world) checkWave(t *testing.T, is wave) {
	t.Helper()
	// Requests that were sent while the machine stood still may all arrive in one second.
	seconds := 1 + int(time.Duration(w.still.Load())/time.Second)
	if is.agent > 10+5*seconds || is.manager > 400+200*seconds {
		t.Errorf("a client sent more requests in %d s than its -kube-api-burst and -kube-api-qps allow: %+v", seconds, is)
	}
}

func (w *world) stopEtcd(t *testing.T) {
	managers := w.pair(t)
	w.outages(t, 3000)
	t.Logf("managers ended %d times", ends(managers))
}

func (w *world) stopEtcdOfOne(t *testing.T) {
	m := w.manager(t, "manager")
	must(t, m.Start())
	m.keep(t)
	w.outages(t, 4000)
	t.Logf("the manager ended %d times", m.ends.Load())
}

// outages pauses etcd during a change.
func (w *world) outages(t *testing.T, number int) {
	t.Helper()
	c := w.changes()[0]
	took := w.measure(t, number, c)
	n := w.begin(t, number+1, c)
	wait(t.Context(), w.after(took.patched))
	mark, gone := w.requests.mark(), time.Now()
	w.interrupted.Store(true)
	w.plane.Etcd.Pause()
	resume := sync.OnceFunc(func() {
		w.plane.Etcd.Resume()
		w.interrupted.Store(false)
	})
	defer resume()
	did := len(patched(w.requests.since(n.mark)))
	n.keepHosts(t, w.outage)
	away, back := time.Since(gone), time.Now()
	resume()
	twice := n.end(t)
	done := time.Since(back)
	wait(t.Context(), w.lease+writeGap) // enough for a silent node to appear in a status
	is := waveOf(w.requests.since(mark), back)
	t.Logf("etcd away for %s with %d NodeCatalogs patched: all done %s later, %d patched twice; at most %d requests came in a second, after %s",
		away.Round(100*time.Millisecond), did, done.Round(100*time.Millisecond), twice, is.all, is.after)
	w.checkWave(t, is)
	w.checkUnknown(t)
}

// writeGap is the minimum time between two writes of a resource's status.
const writeGap = 5 * time.Second

// keepHosts makes every host drift, and checks that its agent corrects it without an API server. It takes at least some
// time.
func (n *turn) keepHosts(t *testing.T, least time.Duration) {
	t.Helper()
	began := time.Now()
	const path, drifted = "/etc/all-9", "someone was here"
	for node, m := range n.machines {
		m.drift(path, drifted)
		n.written[node][path]++
	}
	wrong := len(n.machines)
	for time.Since(began) < least || wrong > 0 && time.Since(began) < limit {
		wait(t.Context(), 100*time.Millisecond)
		wrong = 0
		for _, m := range n.machines {
			if m.has(path) == drifted {
				wrong++
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d agents did not correct drift while etcd was paused", wrong, len(n.machines))
	}
}

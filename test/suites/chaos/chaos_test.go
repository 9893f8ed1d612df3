//go:build rare

// Package chaos_test interrupts the manager, the API server and etcd of a fleet during changes.
//
// The programs are real, and so are the agents, whose hosts are in memory. A separate compiler checks the result of each
// change. Each run logs its seed; make chaos is the long one.
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
	f := newFixture(t)
	t.Run("the manager is killed", f.killManagers)
	t.Run("the leading manager is killed", f.killLeaders)
	t.Run("the API server is killed", f.killAPIServers)
	t.Run("etcd is paused", f.pauseEtcd)
	t.Run("etcd is paused, without leader election", f.pauseEtcdOfOneManager)
}

// randomDelay returns a random duration below a limit.
func (f *fixture) randomDelay(limit time.Duration) time.Duration {
	return time.Duration(f.random.Int64N(int64(limit)))
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// A timing is the duration of an undisturbed change: until the last patch of a NodeCatalog, and until the last write of a
// status.
type timing struct{ patched, reported time.Duration }

// measure makes an undisturbed change.
func (f *fixture) measure(t *testing.T, number int, c change) timing {
	t.Helper()
	r := f.startRollout(t, number, c)
	if r.awaitCompletion(t) > 0 {
		t.Errorf("%s: NodeCatalogs were patched twice without a disturbance", c.what)
	}
	var p timing
	statuses := 0
	for _, req := range f.requests.since(r.mark) {
		switch {
		case !req.succeeded() || req.verb != "patch":
		case req.resource == "nodecatalogs":
			p.patched = req.at.Sub(r.started)
		case req.resource == "files/status":
			statuses++
			p.reported = req.at.Sub(r.started)
		case req.resource == "nodecatalogs/status":
			p.reported = req.at.Sub(r.started)
		}
	}
	t.Logf("undisturbed, %s reaches %d NodeCatalogs in %s, and the last of %d statuses of resources is written after %s",
		c.what, len(patched(f.requests.since(r.mark))), p.patched.Round(time.Millisecond), statuses, p.reported.Round(time.Millisecond))
	return p
}

// A tally counts interruptions by moment.
type tally struct{ before, during, past int }

func (c *tally) count(r *rollout, nodes int) {
	switch did := len(patched(r.requests.since(r.mark))); {
	case did == 0:
		c.before++
	case did < nodes:
		c.during++
	default:
		c.past++
	}
}

func (f *fixture) killManagers(t *testing.T) {
	m := f.manager(t, "manager")
	must(t, m.Start())
	f.awaitConvergence(t)
	f.unknown.Store(0) // agents that have never run count as unknown
	changes := f.changes()
	timings := make([]timing, len(changes))
	for i, c := range changes {
		timings[i] = f.measure(t, i, c)
	}
	var came tally
	total, most := 0, 0
	for i := range f.kills {
		// Four of five affect every node.
		index := i % 5
		if index == 4 && i%10 == 9 {
			index = 5
		}
		// Half of them come while NodeCatalogs are written, which is a small part of a change.
		moment := f.randomDelay(timings[index].reported)
		if i%2 == 1 {
			moment = f.randomDelay(timings[index].patched)
		}
		r := f.startRollout(t, len(changes)+i, changes[index])
		wait(t.Context(), moment)
		m.Kill()
		came.count(r, f.affectedCount(index))
		t.Logf("kill %d: %s, after %s, %d NodeCatalogs patched", i, r.what, moment.Round(time.Millisecond), len(patched(f.requests.since(r.mark))))
		must(t, m.Start())
		twice := r.awaitCompletion(t)
		total, most = total+twice, max(most, twice)
	}
	t.Logf("%d kills: %d before the first NodeCatalog was patched, %d before the last, %d after it; %d NodeCatalogs were patched twice, at most %d after one kill",
		f.kills, came.before, came.during, came.past, total, most)
	f.checkUnknown(t)
}

// affectedCount returns the number of nodes that a change affects.
func (f *fixture) affectedCount(index int) int {
	switch index {
	case 4:
		return f.nodes / groups
	case 5:
		return 1
	}
	return f.nodes
}

func (f *fixture) checkUnknown(t *testing.T) {
	t.Helper()
	n, stall := f.unknown.Swap(0), time.Duration(f.longestStall.Swap(0))
	switch {
	case n == 0:
	case stall > f.lease/6: // renewals come at two thirds of a Lease, and are repeated if they fail
		t.Logf("up to %d nodes counted as unknown, because the machine stood still for %s", n, stall)
	default:
		t.Errorf("up to %d nodes counted as unknown, although all agents were running", n)
	}
}

// elect are the flags of managers with leader election.
var elect = []string{"-leader-elect", "-leader-elect-namespace", "fettle-system"}

func (f *fixture) killLeaders(t *testing.T) {
	leader, standby := f.manager(t, "first", elect...), f.manager(t, "second", elect...)
	must(t, leader.Start())
	c := f.changes()[0]
	took := f.measure(t, 1000, c)
	total, most := 0, 0
	var longest time.Duration
	for i := range f.turns {
		mark := f.requests.mark()
		must(t, standby.Start())
		f.eventually(t, "the second manager waits to be elected", func() bool { return f.isStandby(mark) })
		moment := f.randomDelay(took.patched)
		r := f.startRollout(t, 1001+i, c)
		wait(t.Context(), moment)
		leader.Kill()
		killed := time.Now()
		did := len(patched(f.requests.since(r.mark)))
		twice := r.awaitCompletion(t)
		longest = max(longest, time.Since(killed))
		total, most = total+twice, max(most, twice)
		t.Logf("takeover %d: after %s, %d NodeCatalogs patched, all done %s later", i, moment.Round(time.Millisecond), did, time.Since(killed).Round(100*time.Millisecond))
		leader, standby = standby, leader
	}
	t.Logf("%d takeovers: all done at most %s later; %d NodeCatalogs were patched twice, at most %d of one change", f.turns, longest.Round(100*time.Millisecond), total, most)
	f.checkUnknown(t)
}

// isStandby reports whether a second manager has started: it has read the leader Lease since a mark. The leader does not read it.
func (f *fixture) isStandby(mark int) bool {
	return slices.ContainsFunc(f.requests.since(mark), func(req request) bool {
		return req.node == "" && req.verb == "get" && req.resource == "leases" && req.name == "fettle-manager"
	})
}

func (f *fixture) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	began := time.Now()
	for !holds() {
		if wait(t.Context(), 50*time.Millisecond); time.Since(began) > limit {
			t.Fatalf("not after %s: %s", limit, what)
		}
	}
}

// startManagers starts two managers, as the Deployment does, and restarts them when they end.
func (f *fixture) startManagers(t *testing.T) []*manager {
	t.Helper()
	all := []*manager{f.manager(t, "first", elect...), f.manager(t, "second", elect...)}
	for _, m := range all {
		must(t, m.Start())
		m.keepRunning(t)
	}
	f.eventually(t, "one of them leads", func() bool { return f.leader(t) != "" })
	return all
}

// leader returns the identity of the leader, or "".
func (f *fixture) leader(t *testing.T) string {
	t.Helper()
	var l coordinationv1.Lease
	must(t, client.IgnoreNotFound(f.admin.Get(t.Context(), types.NamespacedName{Namespace: "fettle-system", Name: "fettle-manager"}, &l)))
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func countRestarts(all []*manager) (count int32) {
	for _, m := range all {
		count += m.restarts.Load()
	}
	return count
}

func (f *fixture) killAPIServers(t *testing.T) {
	managers := f.startManagers(t)
	c := f.changes()[0]
	took := f.measure(t, 2000, c)
	var largest peak
	total := 0
	for i := range f.turns {
		r := f.startRollout(t, 2001+i, c)
		wait(t.Context(), f.randomDelay(took.reported))
		f.interrupted.Store(true)
		f.plane.APIServer.Kill()
		did := len(patched(f.requests.since(r.mark)))
		away := time.Second + f.randomDelay(f.outage)
		wait(t.Context(), away)
		mark, back := f.requests.mark(), time.Now()
		must(t, f.plane.APIServer.Start())
		must(t, f.plane.Ready(t.Context()))
		f.interrupted.Store(false)
		total += r.awaitCompletion(t)
		took := time.Since(back)
		wait(t.Context(), f.lease) // every agent renews its Lease
		is := peakOf(f.requests.since(mark), back)
		t.Logf("API server away for %s with %d NodeCatalogs patched: all done %s after it was started again; at most %d requests came in a second, after %s, %d of the manager and %d of an agent for one kind of object",
			away.Round(100*time.Millisecond), did, took.Round(100*time.Millisecond), is.all, is.after, is.manager, is.agent)
		f.checkPeak(t, is)
		largest = peak{all: max(largest.all, is.all), manager: max(largest.manager, is.manager), agent: max(largest.agent, is.agent)}
	}
	t.Logf("%d restarts: at most %d requests in a second, %d of the manager and %d of an agent for one kind of object; managers ended %d times; %d NodeCatalogs were patched twice",
		f.turns, largest.all, largest.manager, largest.agent, countRestarts(managers), total)
	f.checkUnknown(t)
}

func (f *fixture) checkPeak(t *testing.T, is peak) {
	t.Helper()
	// Requests that were sent while the machine stood still may all arrive in one second.
	seconds := 1 + int(time.Duration(f.longestStall.Load())/time.Second)
	if is.agent > 10+5*seconds || is.manager > 400+200*seconds {
		t.Errorf("a client sent more requests in %d s than its -kube-api-burst and -kube-api-qps allow: %+v", seconds, is)
	}
}

func (f *fixture) pauseEtcd(t *testing.T) {
	managers := f.startManagers(t)
	f.pauseEtcdDuringChange(t, 3000)
	t.Logf("managers ended %d times", countRestarts(managers))
}

func (f *fixture) pauseEtcdOfOneManager(t *testing.T) {
	m := f.manager(t, "manager")
	must(t, m.Start())
	m.keepRunning(t)
	f.pauseEtcdDuringChange(t, 4000)
	t.Logf("the manager ended %d times", m.restarts.Load())
}

// pauseEtcdDuringChange pauses etcd while a change is applied.
func (f *fixture) pauseEtcdDuringChange(t *testing.T, number int) {
	t.Helper()
	c := f.changes()[0]
	took := f.measure(t, number, c)
	r := f.startRollout(t, number+1, c)
	wait(t.Context(), f.randomDelay(took.patched))
	mark, gone := f.requests.mark(), time.Now()
	f.interrupted.Store(true)
	f.plane.Etcd.Pause()
	resume := sync.OnceFunc(func() {
		f.plane.Etcd.Resume()
		f.interrupted.Store(false)
	})
	defer resume()
	did := len(patched(f.requests.since(r.mark)))
	r.checkDriftCorrection(t, f.outage)
	away, back := time.Since(gone), time.Now()
	resume()
	twice := r.awaitCompletion(t)
	done := time.Since(back)
	wait(t.Context(), f.lease+writeGap) // enough for a silent node to appear in a status
	is := peakOf(f.requests.since(mark), back)
	t.Logf("etcd away for %s with %d NodeCatalogs patched: all done %s later, %d patched twice; at most %d requests came in a second, after %s",
		away.Round(100*time.Millisecond), did, done.Round(100*time.Millisecond), twice, is.all, is.after)
	f.checkPeak(t, is)
	f.checkUnknown(t)
}

// writeGap is the minimum time between two writes of a resource's status.
const writeGap = 5 * time.Second

// checkDriftCorrection makes every host drift, and checks that its agent corrects it without an API server. It returns after a
// minimum time.
func (r *rollout) checkDriftCorrection(t *testing.T, least time.Duration) {
	t.Helper()
	began := time.Now()
	const path, drifted = "/etc/all-9", "someone was here"
	for node, m := range r.machines {
		m.drift(path, drifted)
		r.writesBefore[node][path]++
	}
	wrong := len(r.machines)
	for time.Since(began) < least || wrong > 0 && time.Since(began) < limit {
		wait(t.Context(), 100*time.Millisecond)
		wrong = 0
		for _, m := range r.machines {
			if m.content(path) == drifted {
				wrong++
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d agents did not correct drift while etcd was paused", wrong, len(r.machines))
	}
}

package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/internal/fleet/rollout"
	"github.com/fettle-dev/fettle/test/fixtures/budget"
)

func TestNoSequenceOfEventsBreaksARollout(t *testing.T) {
	t.Parallel()

	seed := budget.Seed(t)
	for i := range budget.Events(t, 1000, 100_000) {
		if violations := simulate(seed, uint64(i), fault{}); len(violations) > 0 { //nolint:gosec // small
			t.Fatalf("sequence %d:\n%s", i, strings.Join(violations, "\n"))
		}
	}
}

func TestTheSimulationNoticesFaults(t *testing.T) {
	t.Parallel()

	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for i := range uint64(5000) {
				if violations := simulate(1, i, f); len(violations) > 0 {
					t.Logf("sequence %d: %s", i, violations[0])
					return
				}
			}
			t.Error("it is not noticed")
		})
	}
}

func randomPolicy(random *rand.Rand) rollout.Policy {
	limit := func(least int, percentages ...string) intstr.IntOrString {
		if random.IntN(2) == 0 {
			return intstr.FromInt32(int32(least + random.IntN(3))) //nolint:gosec // small
		}
		return intstr.FromString(percentages[random.IntN(len(percentages))])
	}
	return rollout.Policy{
		First: limit(1, "1%", "20%", "100%"), MaxInFlight: limit(1, "10%", "25%", "100%"), AtLeastFirst: random.IntN(2) == 0,
		MaxFailed: limit(0, "0%", "2%", "34%", "100%"), Soak: 2 * time.Minute, Timeout: 4 * time.Minute,
	}
}

// simulate makes a sequence of events, of which one or two managers see some, and returns what is wrong. At last, everything that
// could keep the newest revision from nodes ends, and it has to reach all of them.
func simulate(seed, sequence uint64, f fault) (violations []string) {
	w := newWorld(rand.New(rand.NewPCG(seed, sequence))) //nolint:gosec // has to be reproducible
	c := newChecker(w)
	managers := make([]*manager, 1+w.random.IntN(2))
	for i := range managers {
		managers[i] = &manager{world: w, checker: c, fault: f}
		managers[i].restart()
	}
	for range 20 + w.random.IntN(60) {
		happen(w, managers[w.random.IntN(len(managers))])
		if len(c.violations) > 0 {
			return c.violations
		}
	}
	w.recover()
	settle(w, managers[0])
	return c.violations
}

func happen(w *world, m *manager) {
	switch n := w.random.IntN(40); {
	case n < 24:
		m.step()
	case n < 33:
		w.pass(time.Duration(1+w.random.IntN(90)) * time.Second)
	case n < 38:
		w.event()
	case n < 39:
		m.restart()
	default:
		m.lag = time.Duration(w.random.IntN(3)) * time.Minute
	}
}

// settle has a manager act until the newest revision is everywhere.
func settle(w *world, m *manager) {
	m.restart()
	for range 100 + 20*len(w.nodes) {
		if len(m.moves) == 0 {
			w.pass(time.Minute)
			m.refresh()
		}
		m.step()
		if len(m.checker.violations) > 0 || settled(w, m) {
			return
		}
	}
	m.checker.report("%s is not everywhere: %s; %+v", name(w.newest), behind(w), w.policy.status)
}

// behind describes the nodes that do not have the newest revision.
func behind(w *world) (nodes []string) {
	for _, n := range w.nodes {
		if n.revision < 0 || w.revisions[n.revision] != w.revisions[w.newest] {
			nodes = append(nodes, fmt.Sprintf("%s at %s, silent %t", n.name, name(n.revision), n.silent))
		}
	}
	return nodes
}

func settled(w *world, m *manager) bool {
	newest := w.newest
	s := w.policy.status
	return s.Target == "" && s.Stable == name(newest) && s.Pending == "" && len(s.Admitting) == 0 && len(m.moves) == 0 &&
		!slices.ContainsFunc(w.nodes, func(n *machine) bool {
			return n.revision < 0 || w.revisions[n.revision][n.group] != w.revisions[newest][n.group]
		})
}

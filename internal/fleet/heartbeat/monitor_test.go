package heartbeat_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
)

var start = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// lease returns a Lease of 60 s, which the agent says that it renewed at a time; the zero time is
// never.
func lease(node string, renewed time.Time) *coordinationv1.Lease {
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node, CreationTimestamp: metav1.NewTime(start)},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(60))},
	}
	if !renewed.IsZero() {
		l.Spec.RenewTime = new(metav1.NewMicroTime(renewed))
	}
	return l
}

const never = time.Duration(-1)

func TestSilence(t *testing.T) {
	t.Parallel()

	type step struct {
		at          time.Duration // since the start
		renewed     time.Duration // as the agent says; 0: no Lease is seen
		unreachable bool
	}
	s := time.Second
	for name, c := range map[string]struct {
		steps       []step
		silent, ask []time.Duration // of the times at which it is asked, those with silence
	}{
		"begins when the Lease expires": {
			[]step{{at: 0, renewed: s}}, []time.Duration{60 * s, 61 * s, 600 * s}, []time.Duration{0, 59 * s, 60 * s, 61 * s, 600 * s},
		},
		"is put off by each renewal": {
			[]step{{at: 0, renewed: s}, {at: 40 * s, renewed: 40 * s}}, []time.Duration{100 * s}, []time.Duration{60 * s, 99 * s, 100 * s},
		},
		"is not put off by a Lease that is seen again": {
			[]step{{at: 0, renewed: s}, {at: 40 * s, renewed: s}}, []time.Duration{60 * s}, []time.Duration{59 * s, 60 * s},
		},
		"ends with a renewal": {
			[]step{{at: 0, renewed: s}, {at: 300 * s, renewed: 300 * s}}, []time.Duration{60 * s, 360 * s}, []time.Duration{60 * s, 300 * s, 359 * s, 360 * s},
		},
		"does not depend on the node's clock": {
			[]step{{at: 0, renewed: s}, {at: 40 * s, renewed: -3600 * s}, {at: 80 * s, renewed: 3600 * s}}, []time.Duration{140 * s}, []time.Duration{100 * s, 139 * s, 140 * s},
		},
		"begins a whole duration after the manager started": {
			[]step{{at: 500 * s, renewed: s}}, []time.Duration{560 * s}, []time.Duration{500 * s, 559 * s, 560 * s},
		},
		"begins a whole duration after the manager started, however slow the node's clock is": {
			[]step{{at: 0, renewed: -7200 * s}}, []time.Duration{60 * s}, []time.Duration{0, 59 * s, 60 * s},
		},
		"begins for an agent that never renewed": {
			[]step{{at: 5 * s, renewed: never}}, []time.Duration{65 * s}, []time.Duration{64 * s, 65 * s},
		},
		"begins a whole duration after the API server was last away": {
			[]step{{at: 0, renewed: s}, {at: 30 * s, unreachable: true}, {at: 80 * s, unreachable: true}}, []time.Duration{140 * s}, []time.Duration{60 * s, 139 * s, 140 * s},
		},
		"lasts while the API server is away": {
			[]step{{at: 0, renewed: s}, {at: 70 * s, unreachable: true}}, []time.Duration{60 * s, 71 * s}, []time.Duration{60 * s, 71 * s},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m heartbeat.Monitor
			var got []time.Duration
			steps := c.steps
			for _, at := range c.ask {
				for ; len(steps) > 0 && steps[0].at <= at; steps = steps[1:] {
					now := start.Add(steps[0].at)
					switch is := steps[0]; {
					case is.unreachable:
						m.Unreachable(now)
					case is.renewed == never:
						m.Observe(lease("a", time.Time{}), now)
					default:
						m.Observe(lease("a", start.Add(is.renewed)), now)
					}
				}
				m.SetSilent(m.Overdue(start.Add(at)))
				if m.Silent("a") {
					got = append(got, at)
				}
			}
			if diff := cmp.Diff(c.silent, got); diff != "" {
				t.Errorf("silent (-want +got):\n%s", diff)
			}
			if m.Silent("b") {
				t.Error("a node without a Lease is silent")
			}
		})
	}
}

func TestSilentNodeIsBackOnce(t *testing.T) {
	t.Parallel()

	var m heartbeat.Monitor
	m.Observe(lease("a", start), start)
	m.SetSilent(m.Overdue(start.Add(time.Minute)))
	if !m.Observe(lease("a", start.Add(90*time.Second)), start.Add(90*time.Second)) {
		t.Error("a silent node that renews is not back")
	}
	if m.Observe(lease("a", start.Add(91*time.Second)), start.Add(91*time.Second)) {
		t.Error("a node is back at each renewal")
	}
}

func TestMonitorStartsWithMarkedNodes(t *testing.T) {
	t.Parallel()

	var before heartbeat.Monitor
	slow := start.Add(-2 * time.Hour)
	for node, renewed := range map[string]time.Time{"slow": slow, "back": slow, "alive": start} {
		before.Observe(lease(node, renewed), start)
	}
	before.SetSilent([]string{"slow", "back"})
	marks := map[string]string{}
	for _, node := range []string{"slow", "back", "alive"} {
		marks[node] = before.SilentSince(node, "")
	}

	var m heartbeat.Monitor
	for node, renewed := range map[string]time.Time{"slow": slow, "back": slow.Add(time.Minute), "alive": start} {
		m.Observe(lease(node, renewed), start.Add(time.Hour))
		if want, got := marks[node], m.SilentSince(node, marks[node]); node != "back" && got != want || node == "back" && got != "" {
			t.Errorf("%s is marked with %q, and was with %q", node, got, want)
		}
		if m.Silent(node) != (node == "slow") {
			t.Errorf("%s is silent: %t", node, m.Silent(node))
		}
	}
	m.Observe(lease("slow", slow.Add(time.Minute)), start.Add(time.Hour))
	if got := m.SilentSince("slow", marks["slow"]); got != "" || m.Silent("slow") {
		t.Errorf("after a heartbeat, it is marked with %q", got)
	}
}

func TestAgentsThatFellSilentTogether(t *testing.T) {
	t.Parallel()

	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	beats := map[string]int{"early": 0, "a": 20, "b": 29, "c": 30, "late": 41} // the minute of the last heartbeat
	with := func(m *heartbeat.Monitor, now time.Time) map[string]int {
		counts := map[string]int{}
		for node, s := range m.Silences(now) {
			counts[node] = s.With
		}
		return counts
	}
	var before heartbeat.Monitor
	for node, at := range beats {
		before.Observe(lease(node, minute(at).Add(-time.Hour)), minute(at)) // the agents' clocks are slow
	}
	before.Observe(lease("heard", minute(44)), minute(44))
	before.SetSilent(before.Overdue(minute(44).Add(time.Second)))
	want := map[string]int{"early": 1, "a": 3, "b": 3, "c": 3, "late": 1}
	if diff := cmp.Diff(want, with(&before, minute(45))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := before.Silences(minute(45))["late"]; s.For != 3*time.Minute || s.Duration != time.Minute {
		t.Errorf("got %+v", s)
	}

	var after heartbeat.Monitor // a manager that starts sees all Leases at the same time
	for node, at := range beats {
		after.Observe(lease(node, minute(at).Add(-time.Hour)), minute(60))
		after.SilentSince(node, before.SilentSince(node, ""))
	}
	if diff := cmp.Diff(want, with(&after, minute(60))); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
}

func TestNeededLeases(t *testing.T) {
	t.Parallel()

	owned := lease("other", start)
	owned.OwnerReferences = []metav1.OwnerReference{{UID: "1"}}
	former := lease("former", start)
	former.OwnerReferences = []metav1.OwnerReference{{UID: "0"}}
	var m heartbeat.Monitor
	m.Observe(owned, start)
	m.Observe(former, start)
	missing, outdated := m.Needed(map[string]types.UID{"new": "1", "other": "1", "former": "1"}, 2*time.Minute)
	if !slices.Equal(missing, []string{"new"}) || !slices.Equal(outdated, []string{"other"}) {
		t.Errorf("missing %q, outdated %q", missing, outdated)
	}
	m.Forget("other")
	if missing, _ = m.Needed(map[string]types.UID{"other": "1"}, time.Minute); !slices.Equal(missing, []string{"other"}) {
		t.Errorf("after its deletion, missing %q", missing)
	}
}

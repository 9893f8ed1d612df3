package placement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
)

type (
	ref         = v1alpha1.ResourceRef
	refs        = []v1alpha1.ResourceRef
	assignments = map[v1alpha1.ResourceRef]placement.Assignment
)

const (
	acting   = placement.Acting
	stopping = placement.Stopping
	stopped  = placement.Stopped
)

func TestDecide(t *testing.T) {
	t.Parallel()

	eligible := func(name string, has assignments) placement.Candidate {
		return placement.Candidate{Name: name, Eligible: true, Assignments: has}
	}
	lost := func(name string, has assignments) placement.Candidate {
		return placement.Candidate{Name: name, Assignments: has}
	}
	ab := []string{"a", "b"}
	for name, tt := range map[string]struct {
		resources []placement.Resource
		nodes     []placement.Candidate
		want      map[ref]placement.Decision
	}{
		"a resource that selects no node is nowhere": {
			resources: []placement.Resource{{Ref: "Zone/x"}},
			nodes:     []placement.Candidate{eligible("a", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {}},
		},
		"a node that is gone is passed over": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: []string{"gone", "z"}}},
			nodes:     []placement.Candidate{eligible("z", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "z"}},
		},
		"a node that has acted for more is preferred": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab, With: refs{"Zone/y"}}, {Ref: "Zone/y", Candidates: ab}},
			nodes:     []placement.Candidate{eligible("a", assignments{"Zone/x": stopped}), eligible("b", assignments{"Zone/x": stopped, "Zone/y": stopped})},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "b"}, "Zone/y": {Node: "b"}},
		},
		"and acting counts as having acted": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab, With: refs{"Zone/y"}}, {Ref: "Zone/y", Candidates: ab}},
			nodes:     []placement.Candidate{eligible("a", assignments{"Zone/x": acting}), eligible("b", assignments{"Zone/x": stopped, "Zone/y": acting})},
			want:      map[ref]placement.Decision{"Zone/x": {Next: "b", Waits: []string{"a"}, Stops: []string{"a"}}, "Zone/y": {Node: "b"}},
		},
		"no node without an agent is chosen": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{lost("a", nil), eligible("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "b"}},
		},
		"nor is one if there is no other": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{lost("a", nil), lost("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {}},
		},
		"the acting node stays": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}, {Ref: "Zone/y", Candidates: ab}},
			nodes:     []placement.Candidate{eligible("a", assignments{"Zone/x": acting}), eligible("b", assignments{"Zone/y": acting})},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "a"}, "Zone/y": {Node: "b"}},
		},
		"it stays also without an agent if no other node has one": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{lost("a", assignments{"Zone/x": acting}), lost("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "a"}},
		},
		"it stays if it keeps what it acts for": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{{Name: "a", StaysActing: true, Assignments: assignments{"Zone/x": acting}}, eligible("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "a"}},
		},
		"a node that keeps what it acts for gets nothing new": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{{Name: "a", StaysActing: true, Assignments: assignments{"Zone/y": acting}}, eligible("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "b"}},
		},
		"nor does it go on with what it was told to stop": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{{Name: "a", StaysActing: true, Assignments: assignments{"Zone/x": stopped}}, eligible("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "b"}},
		},
		"first, the acting node is to stop": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{lost("a", assignments{"Zone/x": acting}), eligible("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Next: "b", Waits: []string{"a"}, Stops: []string{"a"}}},
		},
		"until it has stopped, the next one waits": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{lost("a", assignments{"Zone/x": stopping}), eligible("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Next: "b", Waits: []string{"a"}, Stops: []string{"a"}}},
		},
		"then the next one acts": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{lost("a", assignments{"Zone/x": stopped}), eligible("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "b"}},
		},
		"a node that comes back before it has stopped goes on": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{eligible("a", assignments{"Zone/x": stopping}), eligible("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "a"}},
		},
		"a node that comes back later is told to stop until it confirms, and the acting one goes on": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{eligible("a", assignments{"Zone/x": stopping}), eligible("b", assignments{"Zone/x": acting})},
			want:      map[ref]placement.Decision{"Zone/x": {Node: "b", Stops: []string{"a"}}},
		},
		"a node that is not selected any more is to stop": {
			resources: []placement.Resource{{Ref: "Zone/x", Candidates: []string{"b"}}},
			nodes:     []placement.Candidate{eligible("a", assignments{"Zone/x": acting}), eligible("b", nil)},
			want:      map[ref]placement.Decision{"Zone/x": {Next: "b", Waits: []string{"a"}, Stops: []string{"a"}}},
		},
		"also if no other is selected": {
			resources: []placement.Resource{{Ref: "Zone/x"}},
			nodes:     []placement.Candidate{eligible("a", assignments{"Zone/x": acting})},
			want:      map[ref]placement.Decision{"Zone/x": {Stops: []string{"a"}}},
		},
		"related resources have one node, that of most of them": {
			resources: []placement.Resource{
				{Ref: "Record/1", Candidates: ab, With: refs{"Zone/x"}}, {Ref: "Record/2", Candidates: ab, With: refs{"Zone/x"}}, {Ref: "Zone/x", Candidates: ab},
			},
			nodes: []placement.Candidate{eligible("a", assignments{"Record/1": acting}), eligible("b", assignments{"Zone/x": acting, "Record/2": acting})},
			want: map[ref]placement.Decision{
				"Record/1": {Next: "b", Waits: []string{"a"}, Stops: []string{"a"}}, "Record/2": {Node: "b"}, "Zone/x": {Node: "b"},
			},
		},
		"a new resource waits for those that it is related to": {
			resources: []placement.Resource{{Ref: "Record/1", Candidates: ab, With: refs{"Zone/x"}}, {Ref: "Zone/x", Candidates: ab}},
			nodes:     []placement.Candidate{lost("a", assignments{"Zone/x": acting}), eligible("b", nil)},
			want: map[ref]placement.Decision{
				"Record/1": {Next: "b", Waits: []string{"a"}}, "Zone/x": {Next: "b", Waits: []string{"a"}, Stops: []string{"a"}},
			},
		},
		"related resources act on a node that all of them select": {
			resources: []placement.Resource{{Ref: "Record/1", Candidates: ab, With: refs{"Zone/x"}}, {Ref: "Zone/x", Candidates: []string{"b", "c"}}},
			nodes:     []placement.Candidate{eligible("a", nil), eligible("b", nil), eligible("c", nil)},
			want:      map[ref]placement.Decision{"Record/1": {Node: "b"}, "Zone/x": {Node: "b"}},
		},
		"without such a node, each has its own": {
			resources: []placement.Resource{{Ref: "Record/1", Candidates: []string{"a"}, With: refs{"Zone/x"}}, {Ref: "Zone/x", Candidates: []string{"b"}}},
			nodes:     []placement.Candidate{eligible("a", nil), eligible("b", nil)},
			want:      map[ref]placement.Decision{"Record/1": {Node: "a"}, "Zone/x": {Node: "b"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, placement.Decide(tt.resources, tt.nodes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourcesSpreadOverNodesAndStayWhenNodesComeAndGo(t *testing.T) {
	t.Parallel()

	const resources, nodes = 1000, 10
	fleet := func(n int) (all []placement.Candidate) {
		for i := range n {
			all = append(all, placement.Candidate{Name: fmt.Sprintf("n%02d", i), Eligible: true})
		}
		return all
	}
	decide := func(n int) map[ref]placement.Decision {
		var names []string
		for _, node := range fleet(n) {
			names = append(names, node.Name)
		}
		var all []placement.Resource
		for i := range resources {
			all = append(all, placement.Resource{Ref: ref(fmt.Sprintf("Zone/%d", i)), Candidates: names})
		}
		return placement.Decide(all, fleet(n))
	}
	counts, before, moved := map[string]int{}, decide(nodes), 0
	for ref, after := range decide(nodes + 1) {
		counts[before[ref].Node]++
		if after.Node != before[ref].Node {
			moved++
		}
	}
	for _, n := range fleet(nodes) {
		if c := counts[n.Name]; c < 60 || c > 140 {
			t.Errorf("%s acts for %d of %d resources", n.Name, c, resources)
		}
	}
	if moved > 140 {
		t.Errorf("one node more would move %d of %d resources", moved, resources)
	}
}

// A simulated fleet follows the decisions with delays, and nodes come and go. What a node was told to do is what it does until it
// has confirmed something else, or was silent for long enough.
func TestNoTwoNodesActAtATime(t *testing.T) {
	t.Parallel()

	const nodes = 4
	all := []ref{"Record/1", "Record/2", "Zone/x", "Zone/y"}
	moves := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		told, does, silent := make([]assignments, nodes), make([]assignments, nodes), make([]int, nodes)
		for i := range nodes {
			told[i], does[i] = assignments{}, assignments{}
		}
		last := map[ref]int{}
		for step := range 200 {
			var in []placement.Candidate
			for i := range nodes {
				n := placement.Candidate{Name: fmt.Sprint(i), Eligible: silent[i] == 0, Assignments: assignments{}}
				for r, h := range told[i] {
					if h == stopping && (does[i][r] != acting || silent[i] > 3) {
						h = stopped
					}
					n.Assignments[r] = h
				}
				in = append(in, n)
			}
			var resources []placement.Resource
			for _, r := range all {
				var candidates []string
				for i := range nodes {
					if random.IntN(20) > 0 {
						candidates = append(candidates, fmt.Sprint(i))
					}
				}
				resources = append(resources, placement.Resource{Ref: r, Candidates: candidates, With: map[ref]refs{"Record/1": {"Zone/x"}, "Record/2": {"Zone/x"}}[r]})
			}
			decisions := placement.Decide(resources, in)
			for i := range nodes {
				told[i] = assignments{}
				for r, p := range decisions {
					if p.Node == fmt.Sprint(i) {
						told[i][r] = acting
					} else if slices.Contains(p.Stops, fmt.Sprint(i)) {
						told[i][r] = stopping
					}
				}
			}
			for i := range nodes {
				switch {
				case silent[i] > 0 && random.IntN(3) == 0:
					silent[i] = 0
					does[i] = told[i] // a fence keeps it from acting until it knows
				case silent[i] > 0:
					if silent[i]++; silent[i] > 3 {
						does[i] = assignments{} // its programs have ended
					}
				case random.IntN(10) == 0:
					silent[i] = 1
				case random.IntN(2) == 0:
					does[i] = told[i]
				}
			}
			for _, r := range all {
				var active []int
				for i := range nodes {
					if does[i][r] == acting {
						active = append(active, i)
					}
				}
				if len(active) > 1 {
					t.Fatalf("seed %d, step %d: the nodes %v act for %s", seed, step, active, r)
				}
				if len(active) == 1 && last[r] != active[0] {
					moves++
					last[r] = active[0]
				}
			}
		}
	}
	if moves < 1000 {
		t.Errorf("resources moved only %d times: the test proves little", moves)
	}
}

package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

func TestNodesThatCouldNotTakePartFollowAtRest(t *testing.T) {
	t.Parallel()

	applying := is(rollout.Applying)
	for name, tt := range map[string]struct {
		nodes   []rollout.Node
		stopped bool
		want    []string
	}{
		"nodes that are heard follow as far as nodes may be in flight": {
			nodes: join(nodes("i", 1, abandoned, failing), nodes("n", 1, abandoned)), want: []string{"i00", "n00"},
		},
		"nodes that came back a moment ago are in flight": {
			nodes: join(nodes("b", 2, unaffected, applying, came(noon)), nodes("n", 3, abandoned)),
		},
		"so are those for which it is unknown when they came back": {
			nodes: join(nodes("b", 2, unaffected, applying, func(n *rollout.Node) { n.Revision = "old" }), nodes("n", 3, abandoned)),
		},
		"and those that came back in the future, as the clock was set back": {
			nodes: join(nodes("b", 2, unaffected, applying, came(noon.Add(time.Hour))), nodes("n", 3, abandoned)),
		},
		"nodes that came back long ago are not": {
			nodes: join(nodes("b", 2, unaffected, applying, came(noon.Add(-time.Hour))), nodes("n", 1, abandoned)), want: []string{"n00"},
		},
		"nodes that have joined are not": {
			nodes: join(nodes("b", 2, unaffected, applying, came(noon), func(n *rollout.Node) { n.Joined = true }), nodes("n", 1, abandoned)), want: []string{"n00"},
		},
		"silent, disabled and leaving nodes follow at once": {
			nodes: join(nodes("b", 2, unaffected, applying, came(noon)), nodes("d", 2, abandoned, disabled), nodes("l", 2, abandoned, leaving), nodes("s", 2, abandoned, silent)),
			want:  []string{"d00", "d01", "l00", "l01", "s00", "s01"},
		},
		"nodes of the control plane follow one at a time": {
			nodes: join(nodes("c", 2, abandoned, controlPlane), nodes("s", 2, abandoned, controlPlane, silent)), want: []string{"c00"},
		},
		"so do those that are silent": {
			nodes: nodes("s", 2, abandoned, controlPlane, silent), want: []string{"s00"},
		},
		"no node follows in a policy that is stopped": {
			nodes: join(nodes("n", 2, abandoned), nodes("s", 2, abandoned, silent)), stopped: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := rollout.Input{
				Policy: policy(1, 2, 0), State: rollout.State{Stable: "old", Nodes: v1alpha1.RolloutNodes{Failed: 3, Admitted: 9}},
				Nodes: tt.nodes, Stopped: tt.stopped, Now: noon,
			}
			got := rollout.Next(in)
			want := in.State
			want.Admitting, want.Nodes.Total = tt.want, int32(len(tt.nodes)) //nolint:gosec // few
			if diff := cmp.Diff(want, got.State); diff != "" || got.Halted || got.Completed || got.Unproven {
				t.Errorf("%+v; state (-want +got):\n%s", got, diff)
			}
		})
	}
}

func TestNodesThatCameBackCountInOtherRolloutsToo(t *testing.T) {
	t.Parallel()

	back := nodes("b", 3, unaffected, is(rollout.Soaking), came(noon))
	got := rollout.Next(rollout.Input{Policy: policy(9, 4, 0), State: rollingOut(), Nodes: join(back, nodes("n", 6, abandoned)), Now: noon})
	if diff := cmp.Diff(outcome{Admit: 1, Affected: 9, Admitted: 4}, summary(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARevertCountsTheNodesThatHaveComeBack(t *testing.T) {
	t.Parallel()

	back := func(phase rollout.Phase, since time.Time) []option {
		return []option{unaffected, is(phase), came(since)}
	}
	state := rollout.State{Stable: "old", Target: "old", Started: noon}
	for name, tt := range map[string]struct {
		nodes []rollout.Node
		want  outcome
	}{
		"nodes go back as far as nodes may be in flight": {
			nodes("n", 9, abandoned), outcome{Admit: 4, Affected: 9, Admitted: 4},
		},
		"nodes that have come back are in flight until they are well": {
			join(nodes("b", 3, back(rollout.Soaking, noon)...), nodes("n", 6, abandoned)), outcome{Admit: 1, Affected: 9, Admitted: 4},
		},
		"nodes that never had another revision do not count": {
			join(nodes("b", 3, back(rollout.Soaking, noon.Add(-time.Second))...), nodes("n", 6, abandoned)), outcome{Admit: 4, Affected: 6, Admitted: 4},
		},
		"nodes that fail with what was stable halt it": {
			join(nodes("b", 3, back(rollout.Failed, noon)...), nodes("n", 6, abandoned)), outcome{Halted: true, Affected: 9, Admitted: 3, Failed: 3},
		},
		"it is completed when they are well": {
			nodes("b", 9, back(rollout.Proven, noon)...), outcome{Completed: true, Affected: 9, Admitted: 9, Proven: 9},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rollout.Next(rollout.Input{Policy: policy(1, 4, 2), State: state, Nodes: tt.nodes, Now: noon.Add(time.Minute)})
			if diff := cmp.Diff(tt.want, summary(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

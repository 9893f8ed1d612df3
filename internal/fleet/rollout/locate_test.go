package rollout_test

import (
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

func TestLocate(t *testing.T) {
	t.Parallel()

	target := rollout.State{Stable: "old", Target: "new"}
	rest := rollout.State{Stable: "old"}
	history := []v1alpha1.RolloutRecord{{Revision: "former", Outcome: v1alpha1.RolloutReplaced}}
	fixed := rollout.State{Stable: "old", History: history}
	for name, tt := range map[string]struct {
		state rollout.State
		spec  rollout.Spec
		want  rollout.Location
	}{
		"a new node gets the stable revision": {
			target, rollout.Spec{Goal: "n", Stable: "o"}, rollout.Location{Revision: "old", Affected: true},
		},
		"a new node that no revision tells apart has the goal": {
			target, rollout.Spec{Goal: "o", Stable: "o"}, rollout.Location{Revision: "new", AtGoal: true},
		},
		"a node with the goal's spec has the goal": {
			target,
			rollout.Spec{Exists: true, Digest: "n", Revision: "old", Known: true, Goal: "n", Stable: "o", Recorded: "o"},
			rollout.Location{Revision: "new", Affected: true, AtGoal: true},
		},
		"a node with the stable revision's spec waits": {
			target,
			rollout.Spec{Exists: true, Digest: "o", Revision: "old", Known: true, Goal: "n", Stable: "o", Recorded: "o"},
			rollout.Location{Revision: "old", Affected: true},
		},
		"a node whose facts have changed has the revision that its spec records": {
			target,
			rollout.Spec{Exists: true, Digest: "n before", Revision: "new", Known: true, Goal: "n", Stable: "o", Recorded: "n"},
			rollout.Location{Revision: "new", Affected: true, AtGoal: true},
		},
		"a node with an abandoned target stays there": {
			target,
			rollout.Spec{Exists: true, Digest: "b", Revision: "bad", Known: true, Goal: "n", Stable: "o", Recorded: "b"},
			rollout.Location{Revision: "bad", Affected: true, Abandoned: true},
		},
		"also if the target does not affect it": {
			target,
			rollout.Spec{Exists: true, Digest: "b", Revision: "bad", Known: true, Goal: "o", Stable: "o", Recorded: "b"},
			rollout.Location{Revision: "bad", Affected: true, Abandoned: true},
		},
		"a revision that gives it the same spec as the stable one is the stable one": {
			target,
			rollout.Spec{Exists: true, Digest: "o", Revision: "older", Known: true, Goal: "n", Stable: "o", Recorded: "o"},
			rollout.Location{Revision: "old", Affected: true},
		},
		"a revision that gives it the same spec as the goal is the goal": {
			target,
			rollout.Spec{Exists: true, Digest: "n before", Revision: "newer", Known: true, Goal: "n", Stable: "o", Recorded: "n"},
			rollout.Location{Revision: "new", Affected: true, AtGoal: true},
		},
		"a node whose revision is gone has the stable one": {
			target, rollout.Spec{Exists: true, Digest: "x", Revision: "gone", Goal: "n", Stable: "o"}, rollout.Location{Revision: "old", Affected: true},
		},
		"so has one that records nothing": {
			target, rollout.Spec{Exists: true, Digest: "x", Goal: "n", Stable: "o"}, rollout.Location{Revision: "old", Affected: true},
		},
		"a goal that cannot be assigned is at no node": {
			target, rollout.Spec{Exists: true, Stable: "o"}, rollout.Location{Revision: "old", Affected: true},
		},
		"a node that is relabelled has the stable revision if its spec was made for a former rollout": {
			fixed,
			rollout.Spec{Exists: true, Digest: "same in both", Revision: "former", Known: true, Goal: "o", Stable: "o", Recorded: "bad"},
			rollout.Location{Revision: "old", AtGoal: true},
		},
		"it has the target if that is what the former rollout gives it": {
			rollout.State{Stable: "old", Target: "new", History: history},
			rollout.Spec{Exists: true, Digest: "before", Revision: "former", Known: true, Goal: "n", Stable: "o", Recorded: "n"},
			rollout.Location{Revision: "new", Affected: true, AtGoal: true},
		},
		"one that is not relabelled stays at the former one": {
			fixed,
			rollout.Spec{Exists: true, Digest: "bad", Revision: "former", Known: true, Goal: "o", Stable: "o", Recorded: "bad"},
			rollout.Location{Revision: "former", Affected: true, Abandoned: true},
		},
		"at rest, a pinned policy takes a node back from the pending revision": {
			rollout.State{Stable: "old", Pending: "next"},
			rollout.Spec{Exists: true, Digest: "p", Revision: "next", Known: true, Pinned: true, Goal: "o", Stable: "o", Recorded: "p"},
			rollout.Location{Revision: "next", Affected: true, Abandoned: true},
		},
		"at rest, a node with the stable revision has the goal": {
			rest,
			rollout.Spec{Exists: true, Digest: "o", Revision: "old", Known: true, Goal: "o", Stable: "o", Recorded: "o"},
			rollout.Location{Revision: "old", AtGoal: true},
		},
		"at rest, a node with the pending revision stays there": {
			rollout.State{Stable: "old", Pending: "next"},
			rollout.Spec{Exists: true, Digest: "p", Revision: "next", Known: true, Goal: "o", Stable: "o", Recorded: "p"},
			rollout.Location{Revision: "next"},
		},
		"at rest, a node with the revision of another policy is elsewhere": {
			rest,
			rollout.Spec{Exists: true, Digest: "p", Revision: "other", Known: true, Goal: "o", Stable: "o", Recorded: "p"},
			rollout.Location{Revision: "other", Affected: true, Abandoned: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := rollout.Locate(tt.state, tt.spec); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

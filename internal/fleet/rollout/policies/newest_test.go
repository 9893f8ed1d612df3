package policies_test

import (
	"testing"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

func TestBase(t *testing.T) {
	t.Parallel()
	type all = []*v1alpha1.RolloutPolicy
	policy := func(name, spec string) *v1alpha1.RolloutPolicy { return newPolicy(t, name, spec) }
	history := func(p *v1alpha1.RolloutPolicy, records ...v1alpha1.RolloutRecord) *v1alpha1.RolloutPolicy {
		p.Status.Stable, p.Status.History = records[0].Revision, records
		return p
	}
	for name, tt := range map[string]struct {
		policies        all
		base, completed string
	}{
		"the newest of all before a policy has one": {base: r4},
		"what was rolled out last": {
			policies: all{at(policy("a", ""), r1, 5, r1), at(policy("b", ""), r2, 9, r2), at(policy("c", ""), r3, 7, r3)},
			base:     r2, completed: r2,
		},
		"a rollout comes before a revision that a policy began with": {
			policies: all{at(policy("a", ""), r3, 0), at(policy("b", ""), r2, -99, r2)},
			base:     r2, completed: r2,
		},
		"what the policies began with": {policies: all{policy("a", ""), at(policy("b", ""), r3, 0)}, base: r3, completed: r3},
		"a revision does not become newer when a slower policy completes it, too": {
			policies: all{at(policy("staging", ""), r2, 2, r1, r2), at(policy("production", "after: [staging]"), r1, 9, r1)}, base: r2, completed: r2,
		},
		"nor when it completes it after the others have forgotten it": {
			policies: all{at(policy("staging", ""), r3, 3, r2, r3), history(policy("production", ""), completedAt(r1, 9, 9*time.Hour))}, base: r3, completed: r3,
		},
		"nor when a policy that began with it goes on": {
			policies: all{at(policy("staging", ""), r2, 2, r1, r2), at(policy("production", ""), r1, 0)}, base: r2, completed: r2,
		},
		"nor when a policy goes back to it because of a pin": {
			policies: all{at(policy("staging", "revision: "+r1), r1, 9, r1, r2, r1), at(policy("production", ""), r2, 2, r1, r2)}, base: r2, completed: r2,
		},
		"a pin to the newest does not make it older": {
			policies: all{at(policy("staging", "revision: "+r2), r2, 9, r1, r2)}, base: r2, completed: r2,
		},
		"a revert makes a revision the newest": {
			policies: all{at(policy("staging", ""), r1, 9, r1, r2, r1)}, base: r1, completed: r1,
		},
		"also if a slower policy completes the reverted one, too": {
			policies: all{at(policy("staging", ""), r1, 5, r1, r2, r1), at(policy("production", ""), r2, 9, r1, r2)}, base: r1, completed: r1,
		},
		"a revert of a revert does, even if a slower policy completes the first one": {
			policies: all{at(policy("staging", ""), r2, 5, r1, r2, r1, r2), at(policy("production", ""), r1, 9, r1, r2, r1)}, base: r2, completed: r2,
		},
		"a newer one that was completed first": {
			policies: all{history(policy("a", ""), completedAt(r2, 6, 4*time.Hour)), history(policy("b", ""), completedAt(r3, 5, time.Hour))}, base: r3, completed: r3,
		},
		"a rollout that was replaced is none": {
			policies: all{{Status: v1alpha1.RolloutPolicyStatus{History: []v1alpha1.RolloutRecord{{Revision: r1, Outcome: v1alpha1.RolloutReplaced}}}}},
			base:     r4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := setOf(tt.policies...)
			if base, completed := set.Base(r4), set.Completed(); base != tt.base || completed != tt.completed {
				t.Errorf("base %s, completed %q", base, completed)
			}
		})
	}
}

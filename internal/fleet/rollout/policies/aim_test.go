package policies_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

func TestAim(t *testing.T) {
	t.Parallel()
	type all = []*v1alpha1.RolloutPolicy
	policy := func(name, spec string) *v1alpha1.RolloutPolicy { return newPolicy(t, name, spec) }
	rolling := func(p *v1alpha1.RolloutPolicy, target string) *v1alpha1.RolloutPolicy {
		p.Status.Target = target
		return p
	}
	const afterOne, afterTwo = "after: [staging]", "after: [staging, qa]"
	for name, tt := range map[string]struct {
		policies all // of which the one named web aims
		newest   string
		want     policies.Aim
		waits    string // "Reason: message"
	}{
		"the newest by default":              {policies: all{policy("web", "")}, newest: r3, want: policies.Aim{Revision: r3}},
		"nothing before there is a revision": {policies: all{policy("web", afterOne), policy("staging", "")}, want: policies.Aim{}},
		"a pin decides, also against after": {
			policies: all{policy("web", afterOne+"\nrevision: "+r2), policy("staging", "")}, newest: r3, want: policies.Aim{Revision: r2, Pinned: true},
			waits: "Pinned: spec.revision pins the nodes to 2222222222, and 3333333333 is the newest: to get it, remove spec.revision, or run kubectl fettle rollout resume web",
		},
		"a pin to the newest waits for nothing": {
			policies: all{policy("web", "revision: "+r3)}, newest: r3, want: policies.Aim{Revision: r3, Pinned: true},
		},
		"a pin to a revision that is gone": {
			policies: all{at(policy("web", "revision: "+r4), r2, 0, r1, r2)}, newest: r3, want: policies.Aim{Pinned: true},
			waits: "InvalidPolicy: spec.revision: revision " + r4 + " is not kept any more; history has " + r2 + ", " + r1 + ": name one of these, or remove spec.revision",
		},
		"a pin to a revision that is gone, without history": {
			policies: all{policy("web", "revision: "+r4)}, newest: r3, want: policies.Aim{Pinned: true},
			waits: "InvalidPolicy: spec.revision: revision " + r4 + " is not kept any more; history has none: remove spec.revision",
		},
		"the newest that the others have completed": {
			policies: all{at(policy("web", afterOne), r1, 0, r1), at(policy("staging", ""), r3, 2, r2, r3)}, newest: r3, want: policies.Aim{Revision: r3},
		},
		"a stable revision is completed without a rollout": {
			policies: all{at(policy("web", afterOne), r1, 0), at(policy("staging", ""), r3, 0)}, newest: r3, want: policies.Aim{Revision: r3},
		},
		"one that the others are leaving is not": {
			policies: all{at(policy("web", afterOne), r1, 0), rolling(at(policy("staging", ""), r3, 0), r2)}, newest: r3, want: policies.Aim{Revision: r3},
			waits: "WaitingForPolicy: revision 3333333333 waits until policy staging has completed it",
		},
		"one that the others were taken back from is not": {
			policies: all{at(policy("web", afterOne), r1, 0, r1), at(policy("staging", "revision: "+r2), r3, 2, r2, r3)}, newest: r3, want: policies.Aim{Revision: r3},
			waits: "WaitingForPolicy: revision 3333333333 waits until policy staging has completed it",
		},
		"a revert passes at once if the others have completed it before": {
			policies: all{at(policy("web", afterOne), r2, 1, r2), rolling(at(policy("staging", ""), r3, 2, r1, r2, r3), r1)}, newest: r1, want: policies.Aim{Revision: r1},
		},
		"one behind while the newest has yet to be completed": {
			policies: all{at(policy("web", afterOne), r1, 0, r1), rolling(at(policy("staging", ""), r2, 1, r1, r2), r3)}, newest: r3, want: policies.Aim{Revision: r2},
			waits: "WaitingForPolicy: revision 3333333333 waits until policy staging has completed it",
		},
		"nothing if it has that one": {
			policies: all{at(policy("web", afterOne), r2, 1, r2), rolling(at(policy("staging", ""), r2, 1, r1, r2), r3)}, newest: r3,
			waits: "WaitingForPolicy: revision 3333333333 waits until policy staging has completed it",
		},
		"nothing if it had that one before": {
			policies: all{at(policy("web", afterOne), r2, 1, r1, r2), at(policy("staging", ""), r1, 1, r1)}, newest: r3,
			waits: "WaitingForPolicy: revision 3333333333 waits until policy staging has completed it",
		},
		"all others must have completed it": {
			policies: all{at(policy("web", afterTwo), r1, 0), at(policy("qa", ""), r3, 3, r1, r2, r3), at(policy("staging", ""), r2, 2, r1, r2)}, newest: r3, want: policies.Aim{Revision: r2},
			waits: "WaitingForPolicy: revision 3333333333 waits until policy staging has completed it",
		},
		"of several, what the last of the others completed last": {
			policies: all{at(policy("web", afterTwo), r4, 0), at(policy("qa", ""), r2, 2, r1, r2), at(policy("staging", ""), r1, 4, r2, r1)}, newest: r3, want: policies.Aim{Revision: r1},
			waits: "WaitingForPolicy: revision 3333333333 waits until policies qa, staging have completed it",
		},
		"nothing if the others have no revision in common": {
			policies: all{at(policy("web", afterTwo), r4, 0), at(policy("qa", ""), r2, 2, r2), at(policy("staging", ""), r1, 1, r1)}, newest: r3,
			waits: "WaitingForPolicy: revision 3333333333 waits until policies qa, staging have completed it",
		},
		"what it completed itself waits for nobody": {
			policies: all{rolling(at(policy("web", afterOne), r2, 1), r3), at(policy("staging", ""), r1, 1, r1)}, newest: r2, want: policies.Aim{Revision: r2},
		},
		"nothing after a policy that does not exist": {
			policies: all{at(policy("web", afterOne), r1, 0)}, newest: r3,
			waits: "WaitingForPolicy: revision 3333333333 waits until policy staging has completed it",
		},
		"nodes without a policy get the newest": {newest: r3, want: policies.Aim{Revision: r3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aim := setOf(tt.policies...).Aim("web", tt.newest, func(revision string) bool { return revision != r4 })
			waits := ""
			if aim.Waits.Stops() {
				waits = aim.Waits.Reason + ": " + aim.Waits.Message
			}
			if waits != tt.waits || aim.Waits.Stalled != (aim.Waits.Reason == "InvalidPolicy") {
				t.Errorf("waits %q, stalled %v", waits, aim.Waits.Stalled)
			}
			aim.Waits = policies.Stop{}
			if diff := cmp.Diff(tt.want, aim); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package policies_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	type statusOf = v1alpha1.RolloutPolicyStatus
	started := metav1.NewTime(now)
	with := func(s statusOf, o policies.Outcome) statusOf {
		o.Policy, o.Status, o.Now = "web", s, now
		s.Conditions = policies.Conditions(o)
		return s
	}
	record := func(s statusOf, revision string, outcome v1alpha1.RolloutOutcome) statusOf {
		s.History = append([]v1alpha1.RolloutRecord{{
			Revision: revision, Outcome: outcome, Started: started, Ended: metav1.NewTime(now.Add(time.Hour)), Nodes: v1alpha1.RolloutNodes{Affected: 10, Proven: 9, Failed: 1},
		}}, s.History...)
		return s
	}
	target := func(s statusOf, revision string) statusOf {
		s.Target, s.Started, s.Nodes.Affected = revision, &started, 10
		return s
	}
	quiet, moving := with(rest(), policies.Outcome{}), with(target(rolling(), r2), policies.Outcome{})
	halted := with(failed(target(rolling(), r2), 1, "n7"), policies.Outcome{Halted: true})
	fixed := failed(target(rolling(), r2), 1, "n7")
	fixed.Pending = r3
	fixed = with(fixed, policies.Outcome{Halted: true, Newest: r3, Aim: r3})
	const halt = "Warning RolloutHalted revision 2222222222 is halted: 1 of 4 admitted nodes failed, and maxFailed allows 0: n7 Failed: File/motd: disk full; " +
		"fix it in Git, raise maxFailed, or run kubectl fettle rollout undo web"
	for name, tt := range map[string]struct {
		before, after statusOf
		want          []string
	}{
		"nothing happened at rest":       {quiet, quiet, nil},
		"nothing happened in a rollout":  {moving, moving, nil},
		"nothing happened while halted":  {halted, halted, nil},
		"the first revision is no event": {statusOf{}, quiet, nil},
		"a rollout starts":               {quiet, moving, []string{"Normal RolloutStarted revision 2222222222 begins: 10 affected nodes"}},
		"a rollout is completed": {moving, record(quiet, r2, v1alpha1.RolloutCompleted), []string{
			"Normal RolloutCompleted revision 2222222222 is rolled out: 9 of 10 affected nodes proven, 1 failed",
		}},
		"the next one starts at once": {moving, target(record(moving, r2, v1alpha1.RolloutCompleted), r3), []string{
			"Normal RolloutCompleted revision 2222222222 is rolled out: 9 of 10 affected nodes proven, 1 failed",
			"Normal RolloutStarted revision 3333333333 begins: 10 affected nodes",
		}},
		"a rollout is replaced": {halted, target(record(moving, r2, v1alpha1.RolloutReplaced), r3), []string{
			"Normal RolloutReplaced revision 2222222222 is replaced by 3333333333: 9 of 10 affected nodes proven, 1 failed",
			"Normal RolloutStarted revision 3333333333 begins: 10 affected nodes",
		}},
		"a rollout is replaced without a proof": {moving, target(record(moving, r2, v1alpha1.RolloutUnproven), r3), []string{
			"Warning RolloutUnproven no node has tried revision 2222222222",
			"Normal RolloutStarted revision 3333333333 begins: 10 affected nodes",
		}},
		"no node can try the target": {moving, with(target(rolling(), r2), policies.Outcome{Unproven: true}), []string{
			"Warning RolloutUnproven revision 2222222222: none of 10 affected nodes can try it; it goes on when one can",
		}},
		"a rollout halts":  {moving, halted, []string{halt}},
		"a halt is lifted": {halted, moving, []string{"Normal RolloutResumed revision 2222222222 is no longer halted"}},
		"a fix is about to take the place of a halted target": {halted, fixed, nil},
		"a policy becomes invalid": {quiet, with(rest(), policies.Outcome{Stop: notValid}), []string{
			"Warning ProblemFound InvalidPolicy: spec.window is odd",
		}},
		"a policy is valid again": {with(rest(), policies.Outcome{Stop: notValid}), quiet, []string{"Normal ProblemResolved InvalidPolicy is resolved"}},
		"another problem": {with(rest(), policies.Outcome{Stop: notValid}), with(rest(), policies.Outcome{Conflicts: []string{"n1"}, ConflictWith: []string{"db"}}), []string{
			"Warning ProblemFound NodeConflict: 1 node is selected by policy db, too, and is not changed: n1; change spec.nodeSelector of one of them",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, e := range policies.Events(tt.before, tt.after) {
				got = append(got, e.Type+" "+e.Reason+" "+e.Note)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package rollout_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/fleet"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// rolling is the status of a rollout that has admitted three of four nodes.
func rolling() v1alpha1.RolloutPolicyStatus {
	return v1alpha1.RolloutPolicyStatus{
		Stable: r1, Target: r2, Pending: r3, Started: new(ago(12 * day)),
		Nodes:    v1alpha1.RolloutNodes{Total: 5, Affected: 4, Admitted: 3, Proven: 1, Failed: 1, Excluded: 1},
		Failures: []v1alpha1.RolloutFailure{{Node: "web-2", Reason: "TimedOut", Message: "not applied in 10m\x1b[2J", At: ago(11 * day)}},
		Samples: []v1alpha1.RolloutSample{
			{Node: "web-2", State: "Failed", Message: "not applied"}, {Node: "web-3", State: "Soaking", Message: "until 12:00"}, {Node: "web-4", State: "Excluded", Message: "its agent is silent"},
		},
		Conditions: notReady(v1alpha1.ReasonRollingOut, "3 of 4 nodes have it"),
	}
}

func TestStatusShowsRollouts(t *testing.T) {
	t.Parallel()

	c := newCluster(t)
	c.expect(t, "rollout status", outcome{err: "no RolloutPolicies: changes reach all nodes at once\n"})
	c.expect(t, "rollout status prod", outcome{err: "fettle: cannot get the RolloutPolicy prod: rolloutpolicies.fettle.dev \"prod\" not found\n", code: 1})

	waiting := policy("prod", v1alpha1.RolloutPolicyStatus{Stable: r1, Pending: r2, Nodes: v1alpha1.RolloutNodes{Total: 9}, Conditions: notReady(v1alpha1.ReasonWaitingForPolicy, "it waits")})
	waiting.Spec.After = []string{"lab", "staging"}
	paused := policy("edge", v1alpha1.RolloutPolicyStatus{Stable: r1, Conditions: notReady(v1alpha1.ReasonPaused, "spec.paused is set")})
	paused.Spec.Paused, paused.Spec.Revision = true, r1
	windowed := policy("night", v1alpha1.RolloutPolicyStatus{Stable: r1, Pending: r2, Conditions: notReady(v1alpha1.ReasonWaitingForWindow, "closed")})
	windowed.Spec.Window = &v1alpha1.RolloutWindow{Range: []v1alpha1.TimeRange{"22:00-04:00"}, Weekday: []v1alpha1.Weekday{"Sat", "Sun"}, TimeZone: "Europe/Berlin"}
	gated := policy("gated", v1alpha1.RolloutPolicyStatus{
		Stable: r1, Pending: r2,
		Conditions: append(notReady(v1alpha1.ReasonWaitingForGate, "no verdict"), condition("Checked", "Well", "", metav1.ConditionTrue)),
	})
	gated.Spec.Gates = []string{"Checked", "example.com/Load"}
	c.put(t, waiting, paused, windowed, gated, policy("staging", rolling()),
		policy("lab", v1alpha1.RolloutPolicyStatus{Stable: r2, Nodes: v1alpha1.RolloutNodes{Total: 1}, Conditions: ready(v1alpha1.ReasonRolledOut, "")}))

	const head = "NAME     NODES  STABLE      TARGET      AFFECTED  ADMITTED  PROVEN  FAILED  EXCLUDED  READY  REASON\n"
	const staging = "staging  5      0101010101  0202020202  4         3         1       1       1         false  RollingOut\n"
	c.expect(t, "rollout status --detailed-exitcodes", outcome{code: 2, out: head +
		"edge     0      0101010101              0         0         0       0       0         false  Paused\n" +
		"gated    0      0101010101              0         0         0       0       0         false  WaitingForGate\n" +
		"lab      1      0202020202              0         0         0       0       0         true   RolledOut\n" +
		"night    0      0101010101              0         0         0       0       0         false  WaitingForWindow\n" +
		"prod     9      0101010101              0         0         0       0       0         false  WaitingForPolicy\n" +
		staging})
	c.expect(t, "rollout status staging", outcome{out: head + staging + `
Message  3 of 4 nodes have it
Pending  0303030303
Started  12d ago

FAILED NODE  REASON    SINCE  MESSAGE
web-2        TimedOut  11d    not applied in 10m\x1b[2J

NODE   STATE     MESSAGE
web-3  Soaking   until 12:00
web-4  Excluded  its agent is silent
`})
	for name, want := range map[string]string{
		"prod":  "Message    it waits\nWaits for  staging\nPending    0202020202\n",
		"gated": "Message    no verdict\nWaits for  the condition example.com/Load\nPending    0202020202\n",
		"night": "Message    closed\nWaits for  its window Sat, Sun 22:00-04:00 Europe/Berlin\nPending    0202020202\n",
		"edge":  "Message  spec.paused is set\nPaused   see kubectl fettle rollout resume edge\nPinned   0101010101, until kubectl fettle rollout resume edge\n",
	} {
		if _, got, _ := strings.Cut(c.run(t.Context(), "rollout status "+name).out, "\n\n"); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	c.expect(t, "rollout status lab --detailed-exitcodes -o csv", outcome{
		out: "NAME,NODES,STABLE,TARGET,AFFECTED,ADMITTED,PROVEN,FAILED,EXCLUDED,READY,REASON,PENDING,MESSAGE\nlab,1,0202020202,,0,0,0,0,0,true,RolledOut,,\n",
	})
	c.expect(t, "rollout status stagin", outcome{err: "fettle: cannot get the RolloutPolicy stagin: rolloutpolicies.fettle.dev \"stagin\" not found; did you mean staging?\n", code: 1})
	c.expect(t, "rollout status --timeout 1m", outcome{err: "fettle: --timeout limits --watch: use both\n", code: 1})

	var encoded []struct {
		Name, Reason, WaitsFor string
		Status                 v1alpha1.RolloutPolicyStatus
	}
	must(t, json.Unmarshal([]byte(c.run(t.Context(), "rollout status prod -o json").out), &encoded))
	if len(encoded) != 1 || encoded[0].WaitsFor != "staging" || encoded[0].Status.Pending != r2 {
		t.Errorf("%+v", encoded)
	}
}

// An ended is how a command that was started ended.
type ended struct {
	out, err string
	message  string
}

// follow starts rollout status --watch, and returns what it prints meanwhile and how it ends.
func (c *cluster) follow(ctx context.Context, args ...string) (out *locked.Buffer, result <-chan ended) {
	var stdout, stderr locked.Buffer
	ch := make(chan ended, 1)
	go func() {
		err := fleet.Run(ctx, fleet.Options{Streams: program.Streams{Out: &stdout, Err: &stderr}},
			append([]string{"rollout", "status", "--watch", "--kubeconfig", c.kubeconfig}, args...))
		e := ended{out: stdout.String(), err: stderr.String()}
		if err != nil {
			e.message = program.Message(err)
		}
		ch <- e
	}()
	return &stdout, ch
}

func TestStatusFollowsARollout(t *testing.T) {
	t.Parallel()

	c := shared()
	shown := func(t *testing.T, out *locked.Buffer, line string) {
		t.Helper()
		patient.Until(t, "it is shown: "+line, func() bool { return strings.HasSuffix(out.String(), line+"\n") })
	}
	expect := func(t *testing.T, result <-chan ended, want ended) {
		t.Helper()
		if diff := cmp.Diff(want, patient.Receive(t, "the command ends", result), cmp.AllowUnexported(ended{})); diff != "" {
			t.Error(diff)
		}
	}
	const first = "NAME: RollingOut: 3 of 4 nodes have it"

	t.Run("until it is completed", func(t *testing.T) {
		t.Parallel()

		c.put(t, policy("completed", rolling()))
		out, result := c.follow(t.Context(), "completed")
		line := strings.ReplaceAll(first, "NAME", "completed")
		shown(t, out, line)
		next := rolling()
		c.status(t, "completed", next) // shows nothing new
		next.Conditions[0].Message = ""
		next.Nodes = v1alpha1.RolloutNodes{Total: 5, Affected: 4, Admitted: 4, Proven: 3}
		c.status(t, "completed", next)
		second := "completed: 0202020202 proven on 3 of 4 affected nodes, 1 in flight"
		shown(t, out, second)
		c.status(t, "completed", v1alpha1.RolloutPolicyStatus{Stable: r2, Conditions: ready(v1alpha1.ReasonRolledOut, "")})
		expect(t, result, ended{out: line + "\n" + second + "\ncompleted has rolled out 0202020202\n"})
	})
	t.Run("until it is stalled", func(t *testing.T) {
		t.Parallel()

		c.put(t, policy("stalled", rolling()))
		out, result := c.follow(t.Context(), "stalled")
		line := strings.ReplaceAll(first, "NAME", "stalled")
		shown(t, out, line)
		next := rolling()
		next.Conditions = stalled(v1alpha1.ReasonRolloutHalted, "2 of 3 nodes failed")
		c.status(t, "stalled", next)
		expect(t, result, ended{
			out: line + "\n", message: "exit status 1",
			err: "stalled: RolloutHalted: 2 of 3 nodes failed\n",
		})
	})
	t.Run("until the policy is deleted", func(t *testing.T) {
		t.Parallel()

		c.put(t, policy("deleted", rolling()))
		out, result := c.follow(t.Context(), "deleted")
		line := strings.ReplaceAll(first, "NAME", "deleted")
		shown(t, out, line)
		must(t, c.admin.Delete(t.Context(), c.policy(t, "deleted")))
		expect(t, result, ended{out: line + "\n", message: "the RolloutPolicy deleted was deleted"})
	})
	t.Run("until the time is over", func(t *testing.T) {
		t.Parallel()

		c.put(t, policy("slow", rolling()))
		line := strings.ReplaceAll(first, "NAME", "slow")
		patient.Lengthen(t, time.Second, func(timeout time.Duration) bool {
			_, result := c.follow(t.Context(), "slow", "--timeout", timeout.String())
			got := patient.Receive(t, "the command ends", result)
			if got.out == "" { // the machine was too slow for the first request
				return false
			}
			want := ended{out: line + "\n", message: "the rollout is not completed within --timeout; the last state is: " + line}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(ended{})); diff != "" {
				t.Error(diff)
			}
			return true
		})
	})
	t.Run("from when the manager has read the policy", func(t *testing.T) {
		t.Parallel()

		c.put(t, policy("changed", v1alpha1.RolloutPolicyStatus{Stable: r1, Conditions: ready(v1alpha1.ReasonRolledOut, "")}))
		now := c.policy(t, "changed")
		now.Spec.Revision = r1
		must(t, c.admin.Update(t.Context(), now))
		out, result := c.follow(t.Context(), "changed")
		line := "changed: waiting until the manager reads the last change of the policy"
		shown(t, out, line)
		c.status(t, "changed", v1alpha1.RolloutPolicyStatus{Stable: r1, Conditions: ready(v1alpha1.ReasonPinned, "")})
		expect(t, result, ended{out: line + "\nchanged rolls nothing out; its nodes are at 0101010101\n"})
	})
	t.Run("and claims no success of a policy at rest", func(t *testing.T) {
		t.Parallel()

		c.put(t, policy("resting", v1alpha1.RolloutPolicyStatus{Stable: r1, Conditions: ready(v1alpha1.ReasonRolledOut, "")}))
		_, result := c.follow(t.Context(), "resting")
		expect(t, result, ended{out: "resting rolls nothing out; its nodes are at 0101010101\n"})
	})
	t.Run("or not at all", func(t *testing.T) {
		t.Parallel()

		c.expect(t, "rollout status -w", outcome{err: "fettle: --watch follows one policy: name it\n", code: 1})
		c.expect(t, "rollout status -w absent", outcome{err: "fettle: cannot get the RolloutPolicy absent: rolloutpolicies.fettle.dev \"absent\" not found\n", code: 1})
		c.expect(t, "rollout status -w absent -o json", outcome{err: "fettle: --watch needs --output table, and --output \"json\" is not one of [table]\n", code: 1})
		c.expect(t, "rollout status -w absent --timeout -1m", outcome{err: "fettle: --timeout -1m0s is negative: use 1s or more, or 0 for no limit\n", code: 1})
	})
}

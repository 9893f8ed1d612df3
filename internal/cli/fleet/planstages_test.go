package fleet_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// policyList is what a cluster lists: RolloutPolicies with these names and specs, as JSON.
func policyList(policies ...string) string {
	return `{"metadata":{},"items":[` + strings.Join(policies, ",") + `]}`
}

const (
	stagingPolicy = `{"metadata":{"name":"staging"},"spec":{"nodeSelector":{"matchLabels":{"tier":"staging"}}}}`
	prodPolicy    = `{"metadata":{"name":"prod"},"spec":{"nodeSelector":{"matchLabels":{"tier":"prod"}},"after":["staging"],"soak":"1h","gates":["example.com/tests"]}}`
	otherPolicy   = `{"metadata":{"name":"other"},"spec":{"nodeSelector":{"matchLabels":{"tier":"prod"}}}}`
	prodFile      = "apiVersion: fettle.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: prod}\nspec: {nodeSelector: {matchLabels: {tier: prod}}, soak: 100s, paused: true}\n"
)

func TestPlanNamesThePoliciesThatAChangeWouldPass(t *testing.T) {
	t.Parallel()
	affected := func(nodes string) string {
		return fmt.Sprintf(`{"status":{"total":6,"affected":%d,"groups":[{"key":"1","nodes":%s,"changes":[{"ref":"File/motd","action":"Change"}],"answer":"NotAsked"}]}}`, strings.Count(nodes, ",")+1, nodes)
	}
	const everywhere, inProduction = `["web-1","web-2","web-3","web-4","web-5","web-9"]`, `["web-2","web-3","web-4"]`
	file := filepath.Join(t.TempDir(), "prod.yaml")
	put(t, file, prodFile)
	for name, tt := range map[string]struct {
		plan, policies, args, want string
	}{
		"in order, and nodes without a policy": {
			affected(everywhere), policyList(prodPolicy, stagingPolicy), "",
			"RolloutPolicies: 1 of 1 node at once, without a policy, and staging (1 of 1 node, 1 wave, at least 2m), " +
				"then prod (4 of 4 nodes, 4 waves, at least 4h, gates: example.com/tests (absent))",
		},
		"one without affected nodes must be completed, too": {
			affected(inProduction), policyList(prodPolicy, stagingPolicy), "",
			"RolloutPolicies: staging (0 of 1 node), then prod (3 of 4 nodes, 3 waves, at least 3h, gates: example.com/tests (absent))",
		},
		"a file replaces the policy of its name": {
			affected(everywhere), policyList(prodPolicy, stagingPolicy), " --policy " + file,
			"RolloutPolicies: 1 of 1 node at once, without a policy, and prod (4 of 4 nodes, 4 waves, at least 6m40s, paused), and staging (1 of 1 node, 1 wave, at least 2m)",
		},
		"a file adds a policy": {
			affected(inProduction), policyList(), " --policy " + file, "RolloutPolicies: prod (3 of 4 nodes, 3 waves, at least 5m, paused)",
		},
		"several policies take a node": {
			affected(inProduction), policyList(prodPolicy, stagingPolicy, otherPolicy), "",
			"RolloutPolicies: 3 of 4 nodes (several policies select these nodes: they are not changed)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plannerOf(t, tt.plan)
			p.policies = tt.policies
			got := kubectlFettle(t, planFile, strings.Fields("plan -f - --kubeconfig "+p.kubeconfig+tt.args)...)
			lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
			if diff := cmp.Diff(tt.want, lines[len(lines)-1]); diff != "" {
				t.Errorf("%s%s", diff, got.err)
			}
		})
	}
}

func TestPlanEncodesThePoliciesThatAChangeWouldPass(t *testing.T) {
	t.Parallel()
	p := plannerOf(t, `{"status":{"total":6,"affected":1,"groups":[{"key":"1","nodes":["web-2"],"changes":[],"answer":"NotAsked"}]}}`)
	p.policies = policyList(prodPolicy)
	var got struct{ RolloutPolicies []map[string]any }
	if err := json.Unmarshal([]byte(kubectlFettle(t, planFile, "plan", "-f", "-", "-o", "json", "--kubeconfig", p.kubeconfig).out), &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{
		"policy": "prod", "after": []any{"staging"}, "nodes": 4.0, "affected": 1.0, "waves": 1.0, "atLeast": "1h0m0s",
		"waits": `invalid: spec.after names "staging", which does not exist: create this RolloutPolicy, or remove the name; gates: example.com/tests (absent)`,
	}}
	if diff := cmp.Diff(want, got.RolloutPolicies); diff != "" {
		t.Error(diff)
	}
}

// They are changed by others meanwhile, so the plan does not wait for them, and asks none of their nodes.
func TestPlanNamesNodesThatWaitForARollout(t *testing.T) {
	t.Parallel()
	p := plannerOf(t, `{"status":{"total":6,"affected":3,"groups":[{"key":"1","nodes":["web-3","web-5"],"changes":[{"ref":"File/motd","action":"Change"}],`+
		`"answer":"Waiting","message":"still at revision 0123456789 by RolloutPolicy prod"},{"key":"2","nodes":["web-1"],"changes":[{"ref":"File/motd","action":"Change"}],"answer":"NotAsked"}]}}`)
	p.policies = policyList()
	want := outcome{code: 2 + 4, out: "NODES  EXAMPLE  RESOURCE   CATALOG  HOST\n" +
		"2      web-3    File/motd  change   not asked: still at revision 0123456789 by RolloutPolicy prod\n" +
		"1      web-1    File/motd  change   not asked\n\n" +
		"3 of 6 nodes: 0 answered, of which 0 would change; 0 without an answer, 1 not asked; 2 wait for a rollout; 1 silent\n" +
		"No RolloutPolicy: the change reaches all nodes at once\n"}
	got := kubectlFettle(t, planFile, "plan", "-f", "-", "--detailed-exitcodes", "--kubeconfig", p.kubeconfig)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
}

func TestPlanRejectsFilesWithoutAValidPolicy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file.yaml"), planFile)
	put(t, filepath.Join(dir, "bad.yaml"), strings.Replace(prodFile, "soak: 100s", "first: much", 1))
	p := plannerOf(t, `{"status":{"total":6,"affected":0,"groups":[]}}`)
	for name, want := range map[string]string{
		"file.yaml": "--policy " + dir + "/file.yaml has no RolloutPolicy: name a file that has one\n",
		"bad.yaml":  "nothing was planned: correct the RolloutPolicies first\n",
		"none.yaml": "cannot read " + dir + "/none.yaml: no such file or directory\n",
	} {
		got := kubectlFettle(t, planFile, "plan", "-f", "-", "--policy", filepath.Join(dir, name), "--kubeconfig", p.kubeconfig)
		if !strings.HasSuffix(got.err, "fettle: "+want) || got.code != 1 || len(p.asked) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// completed is the status of a policy that has rolled out r1, r2 without success, and r3.
func completed() v1alpha1.RolloutPolicyStatus {
	return v1alpha1.RolloutPolicyStatus{
		Stable: r3, Conditions: ready(v1alpha1.ReasonRolledOut, ""),
		History: []v1alpha1.RolloutRecord{
			record(r3, v1alpha1.RolloutCompleted, 10*day), record(r2, v1alpha1.RolloutReplaced, 11*day), record(r1, v1alpha1.RolloutCompleted, 12*day),
		},
	}
}

// spec is what the commands change, and who owns it.
func (c *cluster) spec(t *testing.T, name string) string {
	t.Helper()
	p := c.policy(t, name)
	var owners []string
	for _, m := range p.ManagedFields {
		if text := m.FieldsV1.GetRawString(); strings.Contains(text, `"f:paused"`) || strings.Contains(text, `"f:revision"`) {
			owners = append(owners, m.Manager)
		}
	}
	return fmt.Sprintf("paused %v, revision %q, of %s", p.Spec.Paused, v1alpha1.ShortRevision(p.Spec.Revision), strings.Join(owners, " "))
}

func TestRolloutIsPausedAndResumed(t *testing.T) {
	t.Parallel()

	c := shared()
	c.put(t, policy("pausable", completed()))
	for _, step := range []struct{ line, out, spec string }{
		{"rollout resume pausable", "policy pausable neither paused nor pinned\n", `paused false, revision "", of `},
		{"rollout pause pausable --dry-run server", "policy pausable paused (server dry run)\n", `paused false, revision "", of `},
		{"rollout pause pausable", "policy pausable paused\n", `paused true, revision "", of fettle-cli`},
		{"rollout pause pausable", "policy pausable already paused\n", `paused true, revision "", of fettle-cli`},
		{"rollout resume pausable --dry-run server", "policy pausable resumed (server dry run)\n", `paused true, revision "", of fettle-cli`},
		{"rollout resume pausable", "policy pausable resumed\n", `paused false, revision "", of `},
	} {
		c.expect(t, step.line, outcome{out: step.out})
		if got := c.spec(t, "pausable"); got != step.spec {
			t.Errorf("%s: got %s, want %s", step.line, got, step.spec)
		}
	}
	for line, message := range map[string]string{
		"rollout pause pausabel":                   "cannot get the RolloutPolicy pausabel: rolloutpolicies.fettle.dev \"pausabel\" not found; did you mean pausable?",
		"rollout resume a/b":                       "\"a/b\" is not a name of a RolloutPolicy: it may not contain '/'",
		"rollout pause":                            "accepts 1 arg(s), received 0",
		"rollout pause pausable --dry-run=client":  "--dry-run \"client\" is not one of [none server]",
		"rollout resume pausable --dry-run=client": "--dry-run \"client\" is not one of [none server]",
	} {
		c.expect(t, line, outcome{err: "fettle: " + message + "\n", code: 1})
	}
}

func TestRolloutIsUndone(t *testing.T) {
	t.Parallel()

	c := shared()
	halted := rolling()
	halted.Stable, halted.Target, halted.History = r1, r2, completed().History
	returning := halted
	returning.Target = r1
	paused := policy("paused", halted)
	paused.Spec.Paused = true
	collected := policy("collected", v1alpha1.RolloutPolicyStatus{
		Stable: r3, History: []v1alpha1.RolloutRecord{record(r3, v1alpha1.RolloutCompleted, day), record(revisionName("0d"), v1alpha1.RolloutCompleted, day)},
	})
	c.put(t, revision(r1), revision(r2), revision(r3), revision(revisionName("ee01")), revision(revisionName("ee02")), collected, policy("undone", completed()), policy("halted", halted), policy("returning", returning), paused,
		policy("first", v1alpha1.RolloutPolicyStatus{Stable: r1, History: []v1alpha1.RolloutRecord{record(r1, v1alpha1.RolloutCompleted, day)}}))
	for _, step := range []struct{ policy, flags, out, spec string }{
		{"undone", "--dry-run server", "policy undone pinned to 0101010101 (server dry run)\n", `paused false, revision "", of `},
		{"undone", "", "policy undone pinned to 0101010101\n", `paused false, revision "0101010101", of fettle-cli`},
		{"undone", "", "policy undone already pinned to 0101010101\n", `paused false, revision "0101010101", of fettle-cli`},
		{"undone", "--to 02", "policy undone pinned to 0202020202\n", `paused false, revision "0202020202", of fettle-cli`},
		{"undone", "--to " + r3, "policy undone pinned to 0303030303\n", `paused false, revision "0303030303", of fettle-cli`},
		{"halted", "", "policy halted pinned to 0101010101\n", `paused false, revision "0101010101", of fettle-cli`},
		{"returning", "", "policy returning pinned to 0101010101\n", `paused false, revision "0101010101", of fettle-cli`},
		{"paused", "", "policy paused pinned to 0101010101, and no longer paused\n", `paused false, revision "0101010101", of fettle-cli`},
	} {
		c.expect(t, strings.TrimSpace("rollout undo "+step.policy+" "+step.flags), outcome{out: step.out})
		if got := c.spec(t, step.policy); got != step.spec {
			t.Errorf("%s %s: got %s, want %s", step.policy, step.flags, got, step.spec)
		}
	}
	c.expect(t, "rollout resume undone", outcome{out: "policy undone resumed, and no longer pinned to 0303030303\n"})
	if got := c.spec(t, "undone"); got != `paused false, revision "", of ` {
		t.Error(got)
	}
	for line, message := range map[string]string{
		"rollout undo first":            "the RolloutPolicy first has completed no other revision: name one that the cluster has with --to",
		"rollout undo collected":        "the cluster no longer has the CatalogRevision " + revisionName("0d") + ": name another one with --to",
		"rollout undo undone --to 0d":   "--to: revision no CatalogRevision begins with \"0d\": see kubectl get catalogrevisions",
		"rollout undo undone --to ee":   "--to: revision \"ee\" is the beginning of " + revisionName("ee01") + ", " + revisionName("ee02") + ": write more of it",
		"rollout undo undone --to last": "--to: revision \"last\" is not a CatalogRevision: write its name, or the beginning of the hash in it",
		"rollout undo absent":           "cannot get the RolloutPolicy absent: rolloutpolicies.fettle.dev \"absent\" not found",
	} {
		c.expect(t, line, outcome{err: "fettle: " + message + "\n", code: 1})
	}
}

// A change of what Git sets lasts until the next reconciliation.
func TestChangeThatGitRevertsSaysWhatToCommit(t *testing.T) {
	t.Parallel()

	c := shared()
	status := completed()
	c.put(t, revision(r1), revision(r2), revision(r3))
	apply := func(t *testing.T, manager, name, fields string) {
		t.Helper()
		manifest := "apiVersion: fettle.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: " + name + "}\nspec: {nodeSelector: {matchLabels: {env: " + name + "}}" + fields + "}\n"
		object := &v1alpha1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
		must(t, c.admin.Patch(t.Context(), object, client.RawPatch(types.ApplyPatchType, []byte(manifest)), client.FieldOwner(manager), client.ForceOwnership))
		c.status(t, name, status)
	}
	apply(t, "kustomize-controller", "flux", ", paused: false")
	apply(t, "helm-controller", "helm", ", paused: true, revision: "+r1)
	apply(t, "argocd-controller", "argo", ", paused: false, revision: "+r1)
	apply(t, "kubectl", "byhand", ", paused: false")
	apply(t, "kustomize-controller", "free", "")
	old := policy("older", status)
	old.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"spec":{"nodeSelector":{},"paused":false}}`}
	c.put(t, old)
	warning := func(field, name, by, remedy string) string {
		return "warning: spec." + field + " of RolloutPolicy " + name + " is set by its manifest, so " + by + " will revert this: " + remedy + "\n"
	}
	for _, step := range []struct{ line, out, err string }{
		{"rollout pause flux", "policy flux paused\n", warning("paused", "flux", "Flux (kustomize-controller)", "write spec.paused: true into the manifest, too")},
		{
			"rollout resume helm", "policy helm resumed, and no longer pinned to 0101010101\n",
			warning("paused", "helm", "Flux (helm-controller)", "remove spec.paused from the manifest, too") +
				warning("revision", "helm", "Flux (helm-controller)", "remove spec.revision from the manifest, too"),
		},
		{
			"rollout undo argo --to 02", "policy argo pinned to 0202020202\n",
			warning("revision", "argo", "Argo CD", "write spec.revision: "+r2+" into the manifest, too"),
		},
		{"rollout pause byhand", "policy byhand paused\n", warning("paused", "byhand", "the next server-side apply of kubectl", "write spec.paused: true into the manifest, too")},
		{"rollout pause older", "policy older paused\n", warning("paused", "older", "the next kubectl apply", "write spec.paused: true into the manifest, too")},
		{"rollout pause free", "policy free paused\n", ""},
		{"rollout undo free", "policy free pinned to 0101010101, and no longer paused\n", ""},
	} {
		c.expect(t, step.line, outcome{out: step.out, err: step.err})
	}
}

func TestChangeNeedsRights(t *testing.T) {
	t.Parallel()

	c := newCluster(t)
	controlplane.Install(t, c.cfg)
	c.put(t, policy("prod", rolling()), revision(r1))
	c.put(t, &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: "web-2"}})
	for user, may := range map[string]bool{"fettle-viewer": false, "fettle-planner": false, "fettle-editor": true, "fettle-admin": true} {
		controlplane.Kubectl(t, c.kubeconfig, "create", "clusterrolebinding", user, "--clusterrole="+user, "--user="+user)
		as := &cluster{c.cfg, c.admin, kubeconfigAs(t, c.cfg, user)}
		for _, line := range []string{"rollout status prod", "rollout history", "rollout diff 01 01"} {
			if got := as.run(t.Context(), line); got.code != 0 {
				t.Errorf("%s: %s: %+v", user, line, got)
			}
		}
		for _, line := range []string{"rollout pause prod", "rollout undo prod", "rollout retry web-2"} {
			got := as.run(t.Context(), line+" --dry-run=server")
			if refused := strings.HasPrefix(got.err, "fettle: you may not change the "); refused == may || (got.code == 0) != may {
				t.Errorf("%s: %s: %+v", user, line, got)
			}
		}
	}
}

func TestUndoWithoutTheRightToListRevisionsKnowsTheHistory(t *testing.T) {
	t.Parallel()

	c := shared()
	c.put(t, policy("unlisted", completed()))
	controlplane.Kubectl(t, c.kubeconfig, "create", "clusterrole", "pacer", "--verb=get,list,patch", "--resource=rolloutpolicies.fettle.dev")
	controlplane.Kubectl(t, c.kubeconfig, "create", "clusterrolebinding", "pacer", "--clusterrole=pacer", "--user=pacer")
	as := &cluster{c.cfg, c.admin, kubeconfigAs(t, c.cfg, "pacer")}
	const forbidden = "cannot list catalogrevisions: catalogrevisions.fettle.dev is forbidden: User \"pacer\" cannot list resource \"catalogrevisions\" in API group \"fettle.dev\" at the cluster scope\n"
	as.expect(t, "rollout undo unlisted", outcome{
		out: "policy unlisted pinned to 0101010101\n",
		err: "cannot say which CatalogRevisions the cluster has, so only those in the status of the policy are known: " + forbidden,
	})
	if got := as.run(t.Context(), "rollout history unlisted"); got.code != 0 || strings.Count(got.out, "unknown\n") != 3 || !strings.HasSuffix(got.err, forbidden) {
		t.Errorf("%+v", got)
	}
}

func TestRolloutIsRetriedOnANode(t *testing.T) {
	t.Parallel()

	c := newCluster(t)
	rest := v1alpha1.RolloutPolicyStatus{Stable: r1}
	many := rolling()
	many.Nodes.Failed = 300
	c.put(t, policy("prod", rolling()), policy("rest", rest), policy("many", many))
	node := func(name, policy string) *v1alpha1.NodeCatalog {
		n := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if policy != "" {
			n.Spec.Rollout = &v1alpha1.NodeRollout{Policy: policy, Revision: r2}
		}
		return n
	}
	c.put(t, node("web-2", "prod"), node("web-3", "prod"), node("db-1", "rest"), node("free", ""), node("lost", "gone"), node("one-of-300", "many"))
	annotation := func(name string) string {
		n := &v1alpha1.NodeCatalog{}
		must(t, c.admin.Get(t.Context(), client.ObjectKey{Name: name}, n))
		return n.Annotations[v1alpha1.AnnotationRetryRollout]
	}
	for _, step := range []struct{ line, node, out, annotation string }{
		{"rollout retry web-2 --dry-run server", "web-2", "node web-2 tries 0202020202 again (server dry run)\n", ""},
		{"rollout retry node/web-2", "web-2", "node web-2 tries 0202020202 again\n", r2},
		{"rollout retry one-of-300", "one-of-300", "node one-of-300 tries 0202020202 again\n", r2},
	} {
		c.expect(t, step.line, outcome{out: step.out})
		if got := annotation(step.node); got != step.annotation {
			t.Errorf("%s: got %q", step.line, got)
		}
	}
	for line, message := range map[string]string{
		"rollout retry web-3":                  "revision 0202020202 has not failed on the node web-3: see kubectl fettle rollout status prod",
		"rollout retry db-1":                   "the RolloutPolicy rest of the node db-1 has no rollout in progress",
		"rollout retry free":                   "no RolloutPolicy takes the node free",
		"rollout retry lost":                   "the RolloutPolicy gone, which took the node lost, no longer exists",
		"rollout retry web-22":                 "cannot get the NodeCatalog web-22: nodecatalogs.fettle.dev \"web-22\" not found; did you mean web-2 or web-3?",
		"rollout retry a/b":                    "\"a/b\" is not a name of a Node: it may not contain '/'",
		"rollout retry web-2 --dry-run=client": "--dry-run \"client\" is not one of [none server]",
	} {
		c.expect(t, line, outcome{err: "fettle: " + message + "\n", code: 1})
	}
	if diff := cmp.Diff(outcome{out: "web-2\nweb-2\n:4\n", err: "Completion ended with directive: ShellCompDirectiveNoFileComp\n"},
		c.complete(t, "rollout retry"), cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
}

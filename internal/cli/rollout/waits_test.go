package rollout_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// node creates a Node with a role whose NodeCatalog was made from a revision, and applied.
func (c *cluster) node(t *testing.T, name, role, policy, revision string) {
	t.Helper()
	catalog := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if policy != "" {
		catalog.Spec.Rollout = &v1alpha1.NodeRollout{Policy: policy, Revision: revision, Since: new(ago(9 * day))}
	}
	c.put(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"role": role}}}, catalog)
	catalog.Status.ObservedGeneration, catalog.Status.AppliedGeneration = catalog.Generation, catalog.Generation
	catalog.Status.Conditions = ready(v1alpha1.ReasonApplied, "")
	must(t, c.admin.Status().Update(t.Context(), catalog))
}

// waitingCluster has nodes of web servers, of which web-1 has the newest revision and web-2 waits for staging. db-1 would not change.
func waitingCluster(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	common, old, now := revisionName("c0"), revisionName("c1"), revisionName("c2")
	first, second := revision(r1), revision(r2)
	first.Targets = []v1alpha1.RevisionTarget{target("web", old), target("db", common)}
	second.Targets = []v1alpha1.RevisionTarget{target("web", now), target("db", common)}
	c.put(t, first, second, catalog(common, "File/conf", `{"path":"/etc/conf"}`), catalog(old, "File/motd", `{"content":"old"}`), catalog(now, "File/motd", `{"content":"new"}`))
	waiting := policy("prod", v1alpha1.RolloutPolicyStatus{Stable: r1, Pending: r2, Conditions: notReady(v1alpha1.ReasonWaitingForPolicy, "it waits")})
	waiting.Spec.After = []string{"staging"}
	paused := policy("edge", v1alpha1.RolloutPolicyStatus{Stable: r1, Pending: r2, Conditions: notReady(v1alpha1.ReasonPaused, "spec.paused is true")})
	paused.Spec.Paused = true
	pinned := policy("fixed", v1alpha1.RolloutPolicyStatus{Stable: r1, Pending: r2, Conditions: ready(v1alpha1.ReasonPinned, "")})
	pinned.Spec.Revision = r1
	running := rolling()
	running.Pending = ""
	c.put(t, waiting, paused, pinned, policy("staging", running))
	c.node(t, "web-1", "web", "staging", r2)
	c.node(t, "web-2", "web", "prod", r1)
	c.node(t, "web-3", "web", "prod", revisionName("0e")) // which is not kept any more, so its spec is the stable one
	c.node(t, "web-4", "web", "edge", r1)
	c.node(t, "web-5", "web", "fixed", r1)
	c.node(t, "db-1", "db", "prod", r1)
	c.node(t, "free", "web", "", "")
	for name, role := range map[string]string{"motd": "web", "conf": "db"} {
		f := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: name}}
		f.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"role": role}}
		f.Spec.Path, f.Spec.Content = "/etc/"+name, new("new")
		c.put(t, f)
	}
	return c
}

func TestWhyExplainsWhatWaitsForARollout(t *testing.T) {
	t.Parallel()

	c := waitingCluster(t)
	for line, want := range map[string]string{
		"why File/motd --detailed-exitcodes": "STATE    NODES  WHICH         SINCE  DRIFT  REASON\n" +
			"Pending  2      web-2, web-3                still at revision 0101010101: prod waits for staging\n" +
			"Pending  1      web-4                       still at revision 0101010101: edge is paused\n" +
			"Pending  1      web-5                       still at revision 0101010101: fixed is pinned to 0101010101\n" +
			"InSync   2      free, web-1                 \n",
		"why File/motd --node web-2": "NODE   SELECTED  STATE    SINCE  DRIFT  REASON\nweb-2  yes       Pending                still at revision 0101010101: prod waits for staging\n",
		"why File/conf":              "STATE   NODES  WHICH  SINCE  DRIFT  REASON\nInSync  1      db-1                 \n",
	} {
		_, got, _ := strings.Cut(c.run(t.Context(), line).out, "\n\n")
		if got != want {
			t.Errorf("%s: got\n%swant\n%s", line, got, want)
		}
	}
	c.expect(t, "why web-2 --detailed-exitcodes", outcome{code: 2, out: "Node       web-2\nState      InSync\nPolicy     prod\nRevision   0101010101, given 9d ago\n" +
		"Waits      web-2 is still at revision 0101010101: prod waits for staging\nWaits for  File/motd\n"})
	c.expect(t, "why web-1 --detailed-exitcodes", outcome{out: "Node      web-1\nState     InSync\nPolicy    staging\nRevision  0202020202, given 9d ago\n"})
	c.expect(t, "why db-1", outcome{out: "Node      db-1\nState     InSync\nPolicy    prod\nRevision  0101010101, given 9d ago\n"})
	c.expect(t, "why free", outcome{out: "Node   free\nState  InSync\n"})
	var encoded struct {
		State, Waits string
		WaitsFor     []string
	}
	must(t, json.Unmarshal([]byte(c.run(t.Context(), "why web-4 -o json").out), &encoded))
	if encoded.Waits != "still at revision 0101010101: edge is paused" || len(encoded.WaitsFor) != 1 {
		t.Errorf("%+v", encoded)
	}
	c.expect(t, "why web-9", outcome{err: "fettle: cannot get the Node web-9: nodes \"web-9\" not found; did you mean web-1 or web-2 or web-3 or web-4 or web-5?\n", code: 1})
	c.expect(t, "why web-2 --node web-2", outcome{err: "fettle: --node limits a resource to one node: leave it out, or name a resource such as File/motd\n", code: 1})

	fleet := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName}}
	c.put(t, fleet)
	fleet.Status.Nodes = v1alpha1.FleetNodes{Total: 7, InSync: 7, Waiting: 4}
	must(t, c.admin.Status().Update(t.Context(), fleet))
	c.expect(t, "status --detailed-exitcodes", outcome{code: 2, out: "Nodes          7 total, 7 in sync\nResources      0 total\nDrift in 24 h  0 resources on 0 nodes, 0 uncorrected\n" +
		"Waiting        4 nodes without the newest changes, because of RolloutPolicies\n" +
		"Rollout        edge: Paused: spec.paused is true\nRollout        fixed: Pinned\nRollout        prod: WaitingForPolicy: it waits\nRollout        staging: RollingOut: 3 of 4 nodes have it\n"})

	halted := rolling()
	halted.Pending, halted.Conditions = "", stalled(v1alpha1.ReasonRolloutHalted, "")
	c.status(t, "staging", halted)
	if got := c.run(t.Context(), "status --detailed-exitcodes"); got.code != 6 {
		t.Errorf("%+v", got)
	}

	// Without the Catalogs of the old revision, everything else is still shown.
	must(t, c.admin.Delete(t.Context(), &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: revisionName("c1")}}))
	got := c.run(t.Context(), "why web-2")
	missing := "cannot say what waits for a rollout: cannot get the Catalog " + revisionName("c1") + ": catalogs.fettle.dev \"" + revisionName("c1") + "\" not found\n"
	if got.err != missing || !strings.Contains(got.out, "State     InSync\n") {
		t.Errorf("%+v", got)
	}
	// At rest, nothing waits, whatever revision the nodes recorded.
	for _, name := range []string{"prod", "edge", "fixed", "staging"} {
		p := c.policy(t, name)
		p.Spec.Paused, p.Spec.Revision = false, ""
		must(t, c.admin.Update(t.Context(), p))
		c.status(t, name, v1alpha1.RolloutPolicyStatus{Stable: r2, Conditions: ready(v1alpha1.ReasonRolledOut, "")})
	}
	c.expect(t, "why web-2", outcome{out: "Node      web-2\nState     InSync\nPolicy    prod\nRevision  0101010101, given 9d ago\n"})
	if got := c.run(t.Context(), "status").out; strings.Contains(got, "Rollout") {
		t.Error(got)
	}
}

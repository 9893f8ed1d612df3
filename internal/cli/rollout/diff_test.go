package rollout_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

func TestHistoryShowsRolloutsThatHaveEnded(t *testing.T) {
	t.Parallel()

	c := newCluster(t)
	c.expect(t, "rollout history", outcome{err: "no rollout has ended yet\n"})
	c.put(t, revision(r1), revision(r3), policy("prod", completed()), policy("lab", v1alpha1.RolloutPolicyStatus{
		Stable: r1, History: []v1alpha1.RolloutRecord{record(r1, v1alpha1.RolloutUnproven, 9*day)},
	}))
	const head = "POLICY  REVISION    OUTCOME    STARTED  DURATION  AFFECTED  ADMITTED  PROVEN  FAILED  EXCLUDED  KEPT\n"
	const prod = "prod    0303030303  Completed  10d      10m       4         4         3       1       0         yes\n" +
		"prod    0202020202  Replaced   11d      10m       4         4         3       1       0         no\n" +
		"prod    0101010101  Completed  12d      10m       4         4         3       1       0         yes\n"
	c.expect(t, "rollout history", outcome{out: head + "lab     0101010101  Unproven   9d       10m       4         4         3       1       0         yes\n" + prod})
	c.expect(t, "rollout history prod", outcome{out: head + prod})
	c.expect(t, "rollout history absent", outcome{err: "fettle: cannot get the RolloutPolicy absent: rolloutpolicies.fettle.dev \"absent\" not found\n", code: 1})

	for line, want := range map[string]string{
		"rollout undo":                    "lab\nprod\n:4\n",
		"rollout undo prod":               ":4\n",
		"rollout undo prod --to":          "0101010101\n0303030303\n:4\n",
		"rollout diff":                    "stable\ntarget\npending\n0101010101\n0303030303\n:4\n",
		"rollout diff stable pending":     ":4\n",
		"rollout diff stable 01 --policy": "lab\nprod\n:4\n",
	} {
		if got := c.complete(t, line); got.out != want {
			t.Errorf("%s: got %q, want %q", line, got.out, want)
		}
	}

	var encoded []struct {
		Policy, Revision, Outcome string
		Kept                      *bool
	}
	must(t, json.Unmarshal([]byte(c.run(t.Context(), "rollout history lab -o json").out), &encoded))
	if len(encoded) != 1 || encoded[0].Revision != r1 || encoded[0].Outcome != "Unproven" || !*encoded[0].Kept {
		t.Errorf("%+v", encoded)
	}
}

// catalog is a Catalog with entries such as File/motd, each with attributes.
func catalog(name string, entries ...string) *v1alpha1.Catalog {
	c := &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: name}, Entries: []v1alpha1.CatalogEntry{}}
	for i := 0; i < len(entries); i += 2 {
		kind, resource, _ := strings.Cut(entries[i], "/")
		c.Entries = append(c.Entries, v1alpha1.CatalogEntry{Kind: kind, Name: resource, Attributes: &runtime.RawExtension{Raw: []byte(entries[i+1])}})
	}
	return c
}

// target is a targeting of all nodes with a role.
func target(role string, catalogs ...string) v1alpha1.RevisionTarget {
	t := v1alpha1.RevisionTarget{NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": role}}}
	for _, name := range catalogs {
		t.Catalogs = append(t.Catalogs, v1alpha1.CatalogRef{Name: name})
	}
	return t
}

func TestRevisionsAreCompared(t *testing.T) {
	t.Parallel()

	c := shared()
	d1, d2 := revisionName("d1"), revisionName("d2")
	common, old, now, source := revisionName("c0"), revisionName("c1"), revisionName("c2"), revisionName("c3")
	first, second, part := revision(d1), revision(d2), revision(revisionName("d20d"))
	first.Targets = []v1alpha1.RevisionTarget{target("web", common, old)}
	withSource := target("db")
	withSource.Sources = []v1alpha1.CatalogRef{{Name: source}}
	second.Targets = []v1alpha1.RevisionTarget{target("web", common, now)}
	second.Parts = []v1alpha1.CatalogRef{{Name: part.Name}}
	part.Targets = []v1alpha1.RevisionTarget{withSource}
	broken := revision(revisionName("d3"))
	broken.Targets = []v1alpha1.RevisionTarget{target("web", revisionName("cf"))}
	c.put(t, first, second, part, broken, catalog(common, "File/same", `{"path":"/etc/same"}`),
		catalog(old, "File/motd", `{"content":"old","path":"/etc/motd"}`, "User/ann", `{"name":"ann","password":"$6$SECRET"}`),
		catalog(now, "File/motd", `{"content":"new","path":"/etc/motd"}`), catalog(source, "File/conf", `{"contentTemplate":"{{ .node.name }}"}`))
	running := rolling()
	running.Stable, running.Target, running.Pending = d1, d2, ""
	c.put(t, policy("compared", running))

	const want = `File/conf: add
--- File/conf (d1d1d1d1d1)
+++ File/conf (d2d2d2d2d2)
@@ -0,0 +1,5 @@
+attributes:
+  contentTemplate: '{{ .node.name }}'
+nodeSelector:
+  matchLabels:
+    role: db

File/motd: change
--- File/motd (d1d1d1d1d1)
+++ File/motd (d2d2d2d2d2)
@@ -1,5 +1,5 @@
 attributes:
-  content: old
+  content: new
   path: /etc/motd
 nodeSelector:
   matchLabels:

User/ann: remove
--- User/ann (d1d1d1d1d1)
+++ User/ann (d2d2d2d2d2)
@@ -1,6 +0,0 @@
-attributes:
-  name: ann
-  password: '[redacted]'
-nodeSelector:
-  matchLabels:
-    role: web

3 resources differ
`
	c.expect(t, "rollout diff d1 "+d2, outcome{out: want})
	c.expect(t, "rollout diff stable target --policy compared --detailed-exitcodes", outcome{out: want, code: 2})
	c.expect(t, "rollout diff stable d1 --policy compared --detailed-exitcodes", outcome{out: "no resource differs\n"})
	c.expect(t, "rollout diff d1 d1 -o json", outcome{out: "[]\n"})
	var encoded []struct{ Ref, Action string }
	must(t, json.Unmarshal([]byte(c.run(t.Context(), "rollout diff d1 d2d2d -o json").out), &encoded))
	if diff := cmp.Diff([]struct{ Ref, Action string }{{"File/conf", "Add"}, {"File/motd", "Change"}, {"User/ann", "Remove"}}, encoded); diff != "" {
		t.Error(diff)
	}
	for line, message := range map[string]string{
		"rollout diff stable target":                    "stable is a revision of a policy: add --policy",
		"rollout diff stable pending --policy compared": "the RolloutPolicy compared has no pending revision",
		"rollout diff d1 d2 --policy absent":            "cannot get the RolloutPolicy absent: rolloutpolicies.fettle.dev \"absent\" not found",
		"rollout diff d1 d20d":                          "revision no CatalogRevision begins with \"d20d\": see kubectl get catalogrevisions",
		"rollout diff d1 d3":                            "cannot get the Catalog " + revisionName("cf") + ": catalogs.fettle.dev \"" + revisionName("cf") + "\" not found",
		"rollout diff d1":                               "accepts 2 arg(s), received 1",
	} {
		c.expect(t, line, outcome{err: "fettle: " + message + "\n", code: 1})
	}
}

// complete completes the word after a line.
func (c *cluster) complete(t *testing.T, line string) outcome {
	t.Helper()
	return c.runWords(t.Context(), append(append([]string{"__complete", "--kubeconfig", c.kubeconfig}, strings.Fields(line)...), "")...)
}

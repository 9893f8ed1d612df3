package overview_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

func motd(spec v1alpha1.Targeting) overview.Resource {
	return overview.Resource{Kind: "File", ObjectMeta: metav1.ObjectMeta{Name: "motd"}, Spec: spec}
}

// node is a node with the label role=web, which has applied its catalog; change may change that.
func node(change func(*overview.NodeCatalog)) overview.Node {
	n := nodeCatalog("web-1")
	n.Generation, n.Status.AppliedGeneration = 3, 3
	n.Status.Facts = json.RawMessage(`{"os":{"family":"Debian"}}`)
	if change != nil {
		change(&n)
	}
	return overview.Node{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{"role": "web"}}, Catalog: &n}
}

func everywhere() v1alpha1.Targeting {
	return v1alpha1.Targeting{NodeSelector: &metav1.LabelSelector{}}
}

func labelled(role string) v1alpha1.Targeting {
	return v1alpha1.Targeting{NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": role}}}
}

func when(text string) v1alpha1.Targeting {
	t := everywhere()
	t.When = text
	return t
}

func TestWhyANodeIsNotSelected(t *testing.T) {
	t.Parallel()

	noFacts := node(func(n *overview.NodeCatalog) { n.Status.Facts = nil })
	unlabelled := node(nil)
	unlabelled.Labels = nil
	for name, c := range map[string]struct {
		spec v1alpha1.Targeting
		node overview.Node
		want string
	}{
		"another label":       {labelled("db"), node(nil), `its nodeSelector requires role=db, and the label is "web"`},
		"no label":            {labelled("db"), unlabelled, `its nodeSelector requires role=db, and the node has no label role`},
		"no nodeSelector":     {v1alpha1.Targeting{}, node(nil), "its nodeSelector selects no node"},
		"a false when":        {when(`facts.os.family == "RedHat"`), node(nil), "its when is false there"},
		"a when of the name":  {when(`node.name == "web-2" || node.labels.role == "db"`), noFacts, "its when is false there"},
		"no facts":            {when(`facts.os.family == "Debian"`), noFacts, "its when reads facts, and the node has not reported any"},
		"an error in a when":  {when(`facts.missing == 1`), node(nil), "its when fails there: no such key: missing"},
		"selected after all":  {when(`facts.os.family == "Debian" && node.labels.role == "web"`), node(nil), ""},
		"selected by a label": {labelled("web"), node(nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := overview.Why(motd(c.spec), []overview.Node{c.node})
			if err != nil || got[0].Reason != c.want || got[0].Selected != (c.want == "") {
				t.Errorf("%+v, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestWhyAnExpressionIsInvalid(t *testing.T) {
	t.Parallel()

	if _, err := overview.Why(motd(when("1 +")), nil); err == nil || !strings.HasPrefix(err.Error(), "spec.when: ") {
		t.Errorf("got %v", err)
	}
}

func TestWhyAResourceIsInItsState(t *testing.T) {
	t.Parallel()

	since := metav1.NewTime(at(3))
	reports := func(r v1alpha1.ResourceReport) func(*overview.NodeCatalog) {
		return func(n *overview.NodeCatalog) {
			n.Status.Resources = []v1alpha1.ResourceReport{{Ref: "File/other", State: v1alpha1.StateFailed}, r}
		}
	}
	drift := record("File/motd", 1, 2, 3, true, "mode")
	for name, c := range map[string]struct {
		change func(*overview.NodeCatalog)
		want   overview.Explanation
	}{
		"in sync": {nil, overview.Explanation{State: v1alpha1.StateInSync}},
		"drifted": {func(n *overview.NodeCatalog) { n.Status.Drift = []v1alpha1.DriftRecord{drift} }, overview.Explanation{State: v1alpha1.StateInSync, Drift: &drift}},
		"failed": {
			reports(v1alpha1.ResourceReport{Ref: "File/motd", State: v1alpha1.StateFailed, Message: "no space", Since: &since}),
			overview.Explanation{State: v1alpha1.StateFailed, Reason: "no space", Since: &since},
		},
		"only reported": {
			reports(v1alpha1.ResourceReport{Ref: "File/motd", State: v1alpha1.StateNoop, Changes: []v1alpha1.PropertyChange{{Property: "mode", Is: "0600", Should: "0644"}}}),
			overview.Explanation{State: v1alpha1.StateNoop, Reason: `mode is "0600", should be "0644"`},
		},
		"withheld from a node that is silent, too": {func(n *overview.NodeCatalog) {
			n.Spec.Withheld = []v1alpha1.Withheld{{Ref: "File/motd", Reason: "Conflict", Message: "also File/x"}}
			n.Annotations = map[string]string{v1alpha1.AnnotationSilentSince: "2026-01-02T01:00:00Z"}
		}, overview.Explanation{State: v1alpha1.StateWithheld, Reason: "Conflict: also File/x"}},
		"silent": {func(n *overview.NodeCatalog) {
			n.Annotations = map[string]string{v1alpha1.AnnotationSilentSince: "2026-01-02T01:00:00Z"}
			n.Generation++
		}, overview.Explanation{State: v1alpha1.StateUnknown, Reason: "no heartbeat from the node's agent for longer than its Lease lasts", Since: new(metav1.NewTime(at(1)))}},
		"pending": {func(n *overview.NodeCatalog) { n.Generation++ }, overview.Explanation{State: v1alpha1.StatePending, Reason: "the node has yet to apply it: generation 4 is not applied yet"}},
		"disabled": {
			func(n *overview.NodeCatalog) { n.Status.Conditions = is("", v1alpha1.ReasonDisabled).Status.Conditions },
			overview.Explanation{State: v1alpha1.StateDisabled, Reason: "because", Since: &since},
		},
		"disabled, and failed before": {func(n *overview.NodeCatalog) {
			n.Status.Conditions = is("", v1alpha1.ReasonDisabled).Status.Conditions
			reports(v1alpha1.ResourceReport{Ref: "File/motd", State: v1alpha1.StateFailed, Message: "no space", Since: &since})(n)
		}, overview.Explanation{State: v1alpha1.StateFailed, Reason: "no space", Since: &since}},
		"corrected by the last run": {
			reports(v1alpha1.ResourceReport{Ref: "File/motd", State: v1alpha1.StateChanged, Corrective: true, Since: &since, Changes: []v1alpha1.PropertyChange{{Property: "mode", Is: "0600", Should: "0644"}}}),
			overview.Explanation{State: v1alpha1.StateInSync, Reason: `drift corrected: mode was "0600", is "0644"`, Since: &since},
		},
		"skipped because of another one": {func(n *overview.NodeCatalog) {
			reports(v1alpha1.ResourceReport{Ref: "File/motd", State: v1alpha1.StateSkipped, Message: "skipped because of failed dependencies: File/other"})(n)
			n.Status.Resources[0].Message = "no space"
		}, overview.Explanation{State: v1alpha1.StateSkipped, Reason: "File/other failed: no space; skipped because of failed dependencies: File/other"}},
		"held": {func(n *overview.NodeCatalog) {
			*n = held(*n)
			n.Generation++
		}, overview.Explanation{State: v1alpha1.StatePending, Held: true, Reason: "the update is held: the node would lose File/motd", Since: new(metav1.NewTime(at(2)))}},
		"omitted": {func(n *overview.NodeCatalog) { n.Status.Omitted = 1 }, overview.Explanation{State: v1alpha1.StateUnknown, Reason: "the node reports too many problems to list all"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			spec := everywhere()
			spec.Require = []v1alpha1.ResourceRef{"File/other"}
			got, err := overview.Why(motd(spec), []overview.Node{node(c.change)})
			if err != nil {
				t.Fatal(err)
			}
			c.want.Node, c.want.Selected = "web-1", true
			if diff := cmp.Diff([]overview.Explanation{c.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	got, err := overview.Why(motd(everywhere()), []overview.Node{{ObjectMeta: metav1.ObjectMeta{Name: "new"}}})
	want := []overview.Explanation{{Node: "new", Selected: true, State: v1alpha1.StatePending, Reason: "the node has no NodeCatalog yet"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestAHeldNodeStillHasTheResource(t *testing.T) {
	t.Parallel()

	hold := func(n *overview.NodeCatalog) { *n = held(*n) }
	got, err := overview.Why(motd(labelled("db")), []overview.Node{node(hold), node(nil)})
	want := []overview.Explanation{
		{
			Node: "web-1", Held: true, Since: new(metav1.NewTime(at(2))),
			Reason: `the update of the node is held, so it still has the resource, although its nodeSelector requires role=db, and the label is "web"`,
		},
		{Node: "web-1", Reason: `its nodeSelector requires role=db, and the label is "web"`},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if !got[0].Fails() || !got[0].Shown() || got[1].Fails() || got[1].Shown() {
		t.Error("only the held node fails, and is shown")
	}
}

func TestPendingComesFromTheStatusOfTheResource(t *testing.T) {
	t.Parallel()

	behind := func(n *overview.NodeCatalog) { n.Generation++ }
	for name, c := range map[string]struct {
		status v1alpha1.ResourceStatus
		want   v1alpha1.ResourceState
	}{
		"none is":              {v1alpha1.ResourceStatus{Nodes: &v1alpha1.NodeCounts{InSync: 1}}, v1alpha1.StateInSync},
		"another node's is":    {v1alpha1.ResourceStatus{Nodes: &v1alpha1.NodeCounts{Pending: 1}, Samples: []v1alpha1.NodeSample{{Node: "web-2", State: v1alpha1.StatePending}}}, v1alpha1.StateInSync},
		"this node's is":       {v1alpha1.ResourceStatus{Nodes: &v1alpha1.NodeCounts{Pending: 1}, Samples: []v1alpha1.NodeSample{{Node: "web-1", State: v1alpha1.StatePending}}}, v1alpha1.StatePending},
		"more are than listed": {v1alpha1.ResourceStatus{Nodes: &v1alpha1.NodeCounts{Pending: 2}, Samples: []v1alpha1.NodeSample{{Node: "web-2", State: v1alpha1.StatePending}}}, v1alpha1.StatePending},
		"it has not said":      {v1alpha1.ResourceStatus{}, v1alpha1.StatePending},
		"its word is outdated": {v1alpha1.ResourceStatus{ObservedGeneration: 7, Nodes: &v1alpha1.NodeCounts{InSync: 1}}, v1alpha1.StatePending},
	} {
		r := motd(everywhere())
		r.Status = c.status
		if got, err := overview.Why(r, []overview.Node{node(behind)}); err != nil || got[0].State != c.want {
			t.Errorf("%s: %+v, %v, want %s", name, got, err, c.want)
		}
	}
}

func TestNodesWithTheSameExplanationAreGrouped(t *testing.T) {
	t.Parallel()

	explanation := func(node string, state v1alpha1.ResourceState, reason string, drift int64) overview.Explanation {
		e := overview.Explanation{Node: node, Selected: true, State: state, Reason: reason}
		if drift > 0 {
			e.Drift = new(record("File/motd", 1, int(drift), drift, true))
		}
		return e
	}
	groups := overview.GroupedExplanations([]overview.Explanation{
		explanation("a", v1alpha1.StateInSync, "", 2), explanation("b", v1alpha1.StatePending, "yet to apply", 0), explanation("c", v1alpha1.StateInSync, "", 3),
		explanation("d", v1alpha1.StateFailed, "no space", 0), explanation("e", v1alpha1.StateFailed, "no memory", 0), explanation("f", v1alpha1.StateFailed, "no memory", 0),
		{Node: "g", Held: true, Reason: "held"},
	})
	var got []string
	for _, g := range groups {
		count := int64(0)
		if g.Drift != nil {
			count = g.Drift.Count
		}
		got = append(got, fmt.Sprintf("%v %s %q %d", g.Nodes, g.State, g.Reason, count))
	}
	want := []string{`[g]  "held" 0`, `[e f] Failed "no memory" 0`, `[d] Failed "no space" 0`, `[b] Pending "yet to apply" 0`, `[a c] InSync "" 5`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

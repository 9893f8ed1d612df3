package planning_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
	"github.com/fettle-dev/fettle/providers"
)

func file(name, content string, edit ...func(*v1alpha1.File)) v1alpha1.Resource {
	f := &v1alpha1.File{}
	f.Name = name
	f.Spec.Path, f.Spec.Content = "/etc/"+name, new(content)
	f.Spec.NodeSelector = &metav1.LabelSelector{}
	for _, e := range edit {
		e(f)
	}
	return f
}

func node(name string, labels map[string]string) compiler.Node {
	return compiler.Node{Name: name, Labels: labels}
}

// baseOf compiles resources for nodes.
func baseOf(nodes []compiler.Node, resources ...v1alpha1.Resource) *planning.Base {
	in := compiler.Input{
		Nodes: nodes, Resources: resources, Kinds: providers.Kinds(),
		ConfigMap: func(ref v1alpha1.KeyRef) (string, bool) { return "of the cluster", ref.Name == "known" },
	}
	return &planning.Base{Input: in, Result: compiler.Compile(in), Close: func() error { return nil }}
}

// propose compiles a change that is not too large.
func propose(t testing.TB, b *planning.Base, c planning.Change) *planning.Proposed {
	t.Helper()
	p, err := planning.Propose(t.Context(), b, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fleet answers with the same report, but for nodes with an answer of their own.
type fleet struct {
	report  string
	special map[string]string // reports; "" is not connected
	asked   chan string       // nil counts nothing

	proposals func(*reports.Proposal) // nil does nothing
}

func (f fleet) Connected(node string) bool {
	is, special := f.special[node]
	return !special || is != ""
}

func (f fleet) Propose(_ context.Context, node string, change *reports.Proposal) (*reports.NodeAnswer, error) {
	if f.asked != nil {
		f.asked <- node
	}
	if change.Base == "" || change.Digest == "" {
		return nil, errors.New("no digests")
	}
	if f.proposals != nil {
		f.proposals(change)
	}
	text := f.report
	if is, special := f.special[node]; special {
		text = is
	}
	switch text {
	case "busy":
		return nil, &questions.TimeoutError{Node: node, Connected: true, After: questions.Patience}
	case "old":
		return nil, &questions.ProblemError{Node: node, Problem: `the question "Plan" is unknown: the agent is older than the manager`}
	}
	a := &reports.NodeAnswer{Reports: make([]reports.NumberedReport, 1)}
	a.Reports[0].Report.Raw = []byte(text)
	return a, nil
}

const noop = `{"kind":"Report","apiVersion":"fettle.dev/v1alpha1","host":"HOST","status":"failed","started":"2026-01-02T03:04:05Z","duration":"HOST0.021s","counts":{"total":999},"secret":"HOST",` +
	`"resources":[{"ref":"File/motd","state":"Noop","duration":"0.001s","message":"","events":[{"property":"content","is":"a","should":"b","status":"noop","message":"content changed a to b","diff":"-a\n+b\n"}]}]}`

func reportOf(host string) string {
	return strings.Replace(strings.ReplaceAll(noop, "HOST0", "0"), "HOST", host, 1)
}

const (
	withValues = `{"kind":"Report","apiVersion":"fettle.dev/v1alpha1","host":"","status":"unchanged","noop":true,"correctiveChange":false,"started":"0001-01-01T00:00:00Z","duration":"0.000s","catalogDigest":"",` +
		`"counts":{"total":1,"inSync":0,"changed":0,"outOfSync":0,"failed":0,"skipped":0,"noop":1,"refreshed":0},"metrics":{"time":{},"events":{"total":1,"success":0,"failure":0,"noop":1,"audit":0},"changes":{"total":0}},` +
		`"resources":[{"ref":"File/motd","state":"Noop","duration":"0.000s","message":"","events":[{"property":"content","is":"a","should":"b","status":"noop","corrective":false,"message":"content changed a to b","diff":"-a\n+b\n"}]}]}`
)

// groupsOf asks all nodes, and leaves out keys.
func groupsOf(t *testing.T, p *planning.Proposed, nodes planning.Nodes, r planning.Request) ([]reports.PlanGroup, string) {
	t.Helper()
	groups, last := p.Ask(t.Context(), nodes, r)
	for i := range groups {
		if groups[i].Key == "" {
			t.Errorf("group %d has no key", i)
		}
		groups[i].Key = ""
	}
	return groups, last
}

func TestNodesWithTheSameOutcomeAreOneGroup(t *testing.T) {
	t.Parallel()
	web := map[string]string{"role": "web"}
	var nodes []compiler.Node
	for i := range 6 {
		nodes = append(nodes, node(fmt.Sprintf("web-%d", i), web))
	}
	nodes = append(nodes, node("db-1", nil))
	onWeb := func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels = web }
	base := baseOf(nodes, file("motd", "a\n", onWeb), file("other", "x"))
	p := propose(t, base, planning.Change{Put: []v1alpha1.Resource{file("motd", "b\n", onWeb)}, Removes: func(v1alpha1.Resource) bool { return false }})
	if diff := cmp.Diff([]string{"web-0", "web-1", "web-2", "web-3", "web-4", "web-5"}, p.Nodes); diff != "" || p.Total != 7 {
		t.Fatalf("of %d: %s", p.Total, diff)
	}
	answers := fleet{report: reportOf("any"), special: map[string]string{
		"web-1": "", "web-2": "busy", "web-3": "old", "web-4": `["\u001b[2J"]`, "web-5": reportOf("other"),
	}}
	changes := []reports.PlanChange{{Ref: "File/motd", Action: reports.ActionChange}}
	none := func(node, message string) reports.PlanGroup {
		return reports.PlanGroup{Nodes: []string{node}, Changes: changes, Answer: reports.AnswerNone, Message: message}
	}
	got, last := groupsOf(t, p, answers, planning.Request{View: planning.Values})
	want := []reports.PlanGroup{
		{Nodes: []string{"web-0", "web-5"}, Changes: changes, Answer: reports.AnswerReport},
		none("web-1", "not connected to the manager: its agent is silent, older than the manager, or connects again within ten minutes"),
		none("web-2", "did not answer within 10s: its agent is busy with a run, or is gone"),
		none("web-3", `answers: the question "Plan" is unknown: the agent is older than the manager`),
		none("web-4", "answers something that is not a report: json: cannot unmarshal array into Go value of type report.plain"),
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(reports.PlanGroup{}, "Report")); diff != "" || last != "" {
		t.Errorf("up to %q (-want +got):\n%s", last, diff)
	}
	if diff := cmp.Diff(withValues, string(got[0].Report.Raw)); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
}

func TestValuesAreShownOnlyOnRequest(t *testing.T) {
	t.Parallel()
	base := baseOf([]compiler.Node{node("a", nil)}, file("motd", "a\n"))
	p := propose(t, base, planning.Change{Put: []v1alpha1.Resource{file("motd", "b\n")}, Removes: func(v1alpha1.Resource) bool { return false }})
	text := strings.Replace(reportOf("a"), `"message":"","events"`, `"message":"cannot read secret","events"`, 1)
	got, _ := groupsOf(t, p, fleet{report: text}, planning.Request{View: planning.Outcomes})
	want := strings.Replace(withValues, `{"property":"content","is":"a","should":"b","status":"noop","corrective":false,"message":"content changed a to b","diff":"-a\n+b\n"}`,
		`{"property":"content","status":"noop","corrective":false,"message":"content changed"}`, 1)
	if diff := cmp.Diff(want, string(got[0].Report.Raw)); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
}

func TestSampleAndTimeLimitTheNodesThatAreAsked(t *testing.T) {
	t.Parallel()
	var nodes []compiler.Node
	for i := range 200 {
		nodes = append(nodes, node(fmt.Sprintf("n%03d", i), map[string]string{"half": fmt.Sprint(i % 2)}))
	}
	odd := func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels = map[string]string{"half": "1"} }
	base := baseOf(nodes)
	p := propose(t, base, planning.Change{Put: []v1alpha1.Resource{file("a", "a"), file("odd", "odd", odd)}, Removes: func(v1alpha1.Resource) bool { return false }})
	asked := make(chan string, 200)
	got, last := groupsOf(t, p, fleet{report: reportOf("x"), asked: asked}, planning.Request{View: planning.Outcomes, Sample: 2})
	if len(asked) != 4 || last != "" || len(got) != 4 || len(got[2].Nodes)+len(got[3].Nodes) != 196 || got[3].Answer != reports.AnswerNotAsked {
		t.Errorf("asked %d, up to %q, %d groups", len(asked), last, len(got))
	}
	stop := make(chan struct{})
	close(stop)
	seen := map[string]bool{}
	for after := ""; ; {
		groups, last := groupsOf(t, p, fleet{report: reportOf("x")}, planning.Request{View: planning.Outcomes, After: after, Stop: stop})
		for _, g := range groups {
			for _, n := range g.Nodes {
				seen[n] = true
			}
		}
		if last == "" {
			break
		}
		if last <= after {
			t.Fatalf("no progress after %s", after)
		}
		after = last
	}
	if len(seen) != 200 {
		t.Errorf("%d nodes were asked", len(seen))
	}
}

func TestChangeAddsRemovesAndWithholdsResources(t *testing.T) {
	t.Parallel()
	requires := func(refs ...v1alpha1.ResourceRef) func(*v1alpha1.File) {
		return func(f *v1alpha1.File) { f.Spec.Require = refs }
	}
	labelled := func(f *v1alpha1.File) { f.Labels = map[string]string{"team": "web"} }
	fromMap := func(name string) func(*v1alpha1.File) {
		return func(f *v1alpha1.File) {
			f.Spec.Content = nil
			f.Spec.ContentFrom = &v1alpha1.ValueSource{ConfigMapKeyRef: &v1alpha1.KeyRef{Namespace: "default", Name: name, Key: "k"}}
		}
	}
	base := baseOf([]compiler.Node{node("a", nil), node("b", nil)}, file("gone", "x", labelled), file("stays", "x"), file("broken", "x"), file("mapped", "", fromMap("known")))
	p := propose(t, base, planning.Change{
		Put:     []v1alpha1.Resource{file("new", "x", func(f *v1alpha1.File) { f.Spec.Noop = new(true) }), file("broken", "x", requires("File/none"))},
		Removes: func(r v1alpha1.Resource) bool { return r.GetLabels()["team"] == "web" },
	})
	got, _ := groupsOf(t, p, fleet{report: reportOf("x")}, planning.Request{View: planning.Outcomes})
	want := []reports.PlanChange{
		{Ref: "File/broken", Action: reports.ActionWithhold, Reason: "MissingReference", Message: "require names File/none, which does not exist"},
		{Ref: "File/gone", Action: reports.ActionRemove},
		{Ref: "File/new", Action: reports.ActionAdd, Noop: true},
	}
	if len(got) != 1 {
		t.Fatalf("%d groups", len(got))
	}
	ignoreText := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Message" }, cmp.Comparer(func(a, b string) bool { return (a == "") == (b == "") }))
	if diff := cmp.Diff(want, got[0].Changes, ignoreText); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]reports.PlanProblem{{Ref: "File/broken", Reason: "MissingReference", Message: "x"}}, p.Problems, ignoreText); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestPlanSaysWhichOfItsResourcesStayWithheld(t *testing.T) {
	t.Parallel()
	broken := func(name string) v1alpha1.Resource {
		return file(name, "x", func(f *v1alpha1.File) { f.Spec.Require = []v1alpha1.ResourceRef{"File/none"} })
	}
	base := baseOf([]compiler.Node{node("a", nil)}, broken("broken"), broken("other"))
	p := propose(t, base, planning.Change{Put: []v1alpha1.Resource{broken("broken")}, Removes: func(v1alpha1.Resource) bool { return false }})
	want := []reports.PlanProblem{{Ref: "File/broken", Reason: "MissingReference", Message: "require names File/none, which does not exist", Stays: true}}
	ignoreText := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Message" }, cmp.Comparer(func(a, b string) bool { return (a == "") == (b == "") }))
	if diff := cmp.Diff(want, p.Problems, ignoreText); diff != "" || len(p.Nodes) > 0 {
		t.Errorf("%d nodes, problems (-want +got):\n%s", len(p.Nodes), diff)
	}
}

func TestDifferentHostileAnswersOfManyNodesAreLimited(t *testing.T) {
	t.Parallel()
	var nodes []compiler.Node
	lies := map[string]string{}
	for i := range 20 {
		name := fmt.Sprintf("n%02d", i)
		nodes = append(nodes, node(name, nil))
		lies[name] = `{"resources":[{"ref":"File/` + name + `","state":"Noop","message":"` + strings.Repeat("x", 1<<20-200) + `"}]}`
	}
	p := propose(t, baseOf(nodes), planning.Change{Put: []v1alpha1.Resource{file("a", "a")}, Removes: func(v1alpha1.Resource) bool { return false }})
	got, _ := groupsOf(t, p, fleet{special: lies}, planning.Request{View: planning.Values})
	size, omitted := 0, 0
	for _, g := range got {
		if g.Report == nil {
			omitted++
		} else {
			size += len(g.Report.Raw)
		}
	}
	if len(got) != 20 || omitted == 0 || size > reports.MaxPlanReports {
		t.Errorf("%d groups, %d without a report, %d bytes", len(got), omitted, size)
	}
}

func TestNodesThatWaitForARolloutAreNamedAndNotAsked(t *testing.T) {
	t.Parallel()
	const why = "still at revision 0123456789 by RolloutPolicy prod"
	base := baseOf([]compiler.Node{node("a", nil), node("b", nil), node("c", nil), node("d", nil)}, file("motd", "a\n"))
	base.Waiting = map[string]string{"a": why, "c": why}
	p := propose(t, base, planning.Change{Put: []v1alpha1.Resource{file("motd", "b\n")}, Removes: func(v1alpha1.Resource) bool { return false }})
	changes := []reports.PlanChange{{Ref: "File/motd", Action: reports.ActionChange}}
	waiting := reports.PlanGroup{Nodes: []string{"a", "c"}, Changes: changes, Answer: reports.AnswerWaiting, Message: why}
	for view, want := range map[planning.View][]reports.PlanGroup{
		planning.Catalogs: {waiting, {
			Nodes: []string{"b", "d"}, Changes: changes, Answer: reports.AnswerNotAsked,
			Message: "what hosts would change is for those who may get nodediffs: bind the role fettle-reports-reader",
		}},
		planning.Values: { // the sample is one of those that can answer
			waiting, {Nodes: []string{"b"}, Changes: changes, Answer: reports.AnswerReport}, {Nodes: []string{"d"}, Changes: changes, Answer: reports.AnswerNotAsked},
		},
	} {
		got, _ := groupsOf(t, p, fleet{report: reportOf("x")}, planning.Request{View: view, Sample: 1})
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(reports.PlanGroup{}, "Report")); diff != "" {
			t.Errorf("view %d (-want +got):\n%s", view, diff)
		}
	}
}

// Nodes keep what was rolled out of a resource at fault, before a change of something else and after it.
func TestPlanKeepsEntriesOfResourcesAtFault(t *testing.T) {
	t.Parallel()
	broken := func(name string) v1alpha1.Resource {
		return file(name, "x", func(f *v1alpha1.File) { f.Spec.Require = []v1alpha1.ResourceRef{"File/none"} })
	}
	nodes, rolledOut := []compiler.Node{node("a", nil)}, []v1alpha1.Resource{file("broken", "x"), file("other", "x"), file("third", "x")}
	base := baseOf(nodes, broken("broken"), file("other", "x"), file("third", "x"))
	base.Keep = new(compiler.Compiler).Draft(compiler.Input{Resources: rolledOut, Kinds: base.Input.Kinds})
	base.Result = compiler.CompileFrom(base.Input, base.Keep)
	p := propose(t, base, planning.Change{Put: []v1alpha1.Resource{file("other", "y"), broken("third")}, Removes: func(v1alpha1.Resource) bool { return false }})
	got, _ := groupsOf(t, p, fleet{report: reportOf("x")}, planning.Request{View: planning.Outcomes})
	if len(got) != 1 {
		t.Fatalf("%d groups", len(got))
	}
	if diff := cmp.Diff([]reports.PlanChange{{Ref: "File/other", Action: reports.ActionChange}}, got[0].Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	problems := []reports.PlanProblem{{
		Ref: "File/third", Reason: "MissingReference", Message: "require names File/none, which does not exist; the node has File/broken, File/other, File/third; nodes keep what was rolled out before",
	}}
	if diff := cmp.Diff(problems, p.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

package planning_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/seal"
	"github.com/fettle-dev/fettle/providers"
)

// A host may say anything about a guess at its contents, such as by a state, a failure, a number, the size of its answer, or no answer.
// Without a right to know hosts, all of them give the same plan, and no host is asked.
func TestPlanRevealsNoGuessWithoutTheRightToHosts(t *testing.T) {
	t.Parallel()
	base := baseOf([]compiler.Node{node("a", nil), node("b", nil)}, file("motd", "a\n"))
	none := `{"resources":[]}`
	plan := func(guess, answer string) ([]reports.PlanGroup, int) {
		asked := make(chan string, 9)
		p := propose(t, base, planning.Change{Put: []v1alpha1.Resource{file("shadow", guess)}, Removes: nothing})
		got, last := groupsOf(t, p, fleet{report: answer, special: map[string]string{"b": none}, asked: asked}, planning.Request{})
		if last != "" {
			t.Errorf("%d nodes are left out after %q", len(p.Nodes), last)
		}
		return got, len(asked)
	}
	right, asked := plan("right\n", none)
	for name, answer := range map[string]string{
		"a change": reportOf("a"), "a failure": `{"resources":[{"ref":"File/shadow","state":"Failed","message":"its checksum differs"}]}`, "no answer": "busy", "no report": "x",
	} {
		wrong, again := plan("wrong\n", answer)
		if diff := cmp.Diff(right, wrong); diff != "" || asked+again != 0 {
			t.Errorf("%s: nodes are asked %d times (-right +wrong):\n%s", name, asked+again, diff)
		}
	}
	if len(right) != 1 || right[0].Answer != reports.AnswerNotAsked || len(right[0].Nodes) != 2 || !strings.Contains(right[0].Message, "fettle-reports-reader") {
		t.Errorf("%+v", right)
	}
}

// The names of what resources generate are contents of hosts.
func TestGeneratedResourcesAreCountedWithoutTheRightToValues(t *testing.T) {
	t.Parallel()
	p := propose(t, baseOf([]compiler.Node{node("a", nil)}), planning.Change{Put: []v1alpha1.Resource{file("dir", "x")}, Removes: nothing})
	answer := `{"resources":[{"ref":"File/dir","state":"Noop"},{"ref":"File//etc/dir/private","state":"Noop"},{"ref":"User/ann","state":"Failed","message":"ann"}]}`
	for view, want := range map[planning.View]string{
		planning.Outcomes: "File/dir 2 generated", planning.Values: "File/dir File//etc/dir/private User/ann 0 generated",
	} {
		got, _ := groupsOf(t, p, fleet{report: answer}, planning.Request{View: view})
		var refs []string
		for _, ref := range []string{"File/dir", "File//etc/dir/private", "User/ann"} {
			if strings.Contains(string(got[0].Report.Raw), `"`+ref+`"`) {
				refs = append(refs, ref)
			}
		}
		if is := fmt.Sprint(strings.Join(refs, " "), " ", got[0].Generated, " generated"); is != want {
			t.Errorf("view %d has %s, not %s", view, is, want)
		}
	}
}

func secretFile(name, key string, edit ...func(*v1alpha1.File)) v1alpha1.Resource {
	return file(name, "", append(edit, func(f *v1alpha1.File) {
		f.Spec.Content = nil
		f.Spec.AcceptSelfLabelledNodes = true
		f.Spec.ContentFrom = &v1alpha1.ValueSource{SecretKeyRef: &v1alpha1.KeyRef{Namespace: "default", Name: "s", Key: key}}
	})...)
}

// Whatever a plan is about, a proposal has no value from a Secret, sealed or not, and nothing is sealed for it. Of resources that the
// caller may only plan, Secrets are not even read: whether they exist, too, is for others.
func TestProposalsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	key, err := seal.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	nodes := []compiler.Node{{Name: "a", PublicKey: key.PublicKey().String()}, {Name: "b", PublicKey: key.PublicKey().String()}}
	read := map[string]int{}
	secret := func(ref v1alpha1.KeyRef) compiler.SecretValue {
		read[ref.Key]++
		return compiler.SecretValue{Exposed: true, Found: ref.Key != "missing", Value: []byte("hunter2"), Version: "1"}
	}
	in := compiler.Input{
		Nodes: nodes, Kinds: providers.Kinds(), Secret: secret,
		Resources: []v1alpha1.Resource{secretFile("same", "k"), secretFile("mode", "k"), secretFile("other", "k"), secretFile("plain", "k")},
		Seal: func(_ *compiler.Node, _ v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
			return v1alpha1.SealedValue{Attribute: attribute, From: from, Key: "sha256-x", Value: []byte("ciphertext")}, nil
		},
	}
	base := &planning.Base{Input: in, Result: compiler.Compile(in), Close: func() error { return nil }}
	base.Input.Seal = func(*compiler.Node, v1alpha1.ResourceRef, string, v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
		t.Error("a value is sealed for a plan")
		return v1alpha1.SealedValue{}, nil
	}
	clear(read)
	mode := func(f *v1alpha1.File) { f.Spec.Mode = new("0600") }
	p := propose(t, base, planning.Change{
		Put: []v1alpha1.Resource{
			secretFile("same", "k"), secretFile("mode", "k", mode), secretFile("other", "l"), file("plain", "a guess"), secretFile("new", "k"),
			secretFile("planner", "missing"), secretFile("writer", "missing"),
		},
		Unread: map[v1alpha1.ResourceRef]bool{"File/planner": true}, Removes: nothing,
	})
	proposals := make(chan *reports.Proposal, 2)
	got, _ := groupsOf(t, p, fleet{report: reportOf("x"), proposals: func(p *reports.Proposal) { proposals <- p }}, planning.Request{View: planning.Values})
	var lines []string
	for range 2 {
		for _, e := range (<-proposals).Entries {
			for _, s := range e.Sealed {
				lines = append(lines, fmt.Sprintf("%s %s %s %s%s%s", e.Ref(), s.Attribute, s.From.Key, s.Key, s.Value, s.From.Version))
			}
		}
	}
	want := []string{"File/mode content k ", "File/new content k ", "File/other content l ", "File/planner content missing "}
	if diff := cmp.Diff(append(want, want...), lines); diff != "" {
		t.Errorf("in proposals (-want +got):\n%s", diff)
	}
	if len(got) != 1 || len(p.Problems) != 1 || p.Problems[0].Ref != "File/writer" {
		t.Errorf("%d groups, %+v", len(got), p.Problems)
	}
	if read["missing"] != 1 {
		t.Errorf("the Secret of both is read %d times", read["missing"])
	}
}

// What a plan takes is bounded by numbers: of pairs of resources and nodes, of bytes that templates make, and of changes.
func TestPlansThatWouldTakeTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	nodes := func(n int) (all []compiler.Node) {
		for i := range n {
			all = append(all, node(fmt.Sprintf("n%05d", i), map[string]string{"name": fmt.Sprint(i)}))
		}
		return all
	}
	files := func(n int, content string, edit func(i int, f *v1alpha1.File)) (all []v1alpha1.Resource) {
		for i := range n {
			all = append(all, file(fmt.Sprintf("f%d", i), content, func(f *v1alpha1.File) { edit(i, f) }))
		}
		return all
	}
	template := func(text string) func(int, *v1alpha1.File) {
		return func(_ int, f *v1alpha1.File) {
			f.Spec.Content = nil
			f.Spec.ContentTemplate = &text
		}
	}
	for name, c := range map[string]struct {
		nodes int
		put   []v1alpha1.Resource
		large bool
	}{
		"targetings and nodes": {2500, files(500, "x", func(i int, f *v1alpha1.File) {
			f.Spec.NodeSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: fmt.Sprint("no-", i), Operator: metav1.LabelSelectorOpDoesNotExist}}
		}), true},
		"templates and nodes":   {1500, files(800, "", template("x")), true},
		"large templates":       {3, files(100, "", template(`{{ repeat 100000 "<>" }}{{ .node.name }}`)), true},
		"changes of each node":  {300, append(files(3000, "x", func(int, *v1alpha1.File) {}), files(1, "", template("{{ .node.name }}"))[0].(*v1alpha1.File).DeepCopy()), true},
		"many plain resources":  {3000, files(2000, "x", func(int, *v1alpha1.File) {}), false},
		"a template everywhere": {3000, files(3, "", template("{{ .node.name }}")), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.put[len(c.put)-1].SetName("last")
			p, err := planning.Propose(t.Context(), baseOf(nodes(c.nodes)), planning.Change{Put: c.put, Removes: nothing})
			if errors.Is(err, planning.ErrTooLarge) != c.large || !c.large && (err != nil || len(p.Nodes) != c.nodes) {
				t.Errorf("got %v", err)
			}
		})
	}
}

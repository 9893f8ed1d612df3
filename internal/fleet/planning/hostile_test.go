package planning_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/providers/external"
)

func nothing(v1alpha1.Resource) bool { return false }

// zones are a kind that users bring.
func zones(t *testing.T) *definition.Definition {
	t.Helper()
	e := &v1alpha1.ExternalType{}
	e.Name = "dnszones"
	attribute := func(name, schema string, is v1alpha1.ExternalBehaviour) v1alpha1.ExternalAttribute {
		return v1alpha1.ExternalAttribute{Name: name, Description: "x", Behaviour: is, Schema: &runtime.RawExtension{Raw: []byte(schema)}}
	}
	e.Spec = v1alpha1.ExternalTypeSpec{
		Kind: "DNSZone", Version: "1", Description: "A zone of a DNS service.",
		Attributes: []v1alpha1.ExternalAttribute{attribute("name", `{"type":"string"}`, v1alpha1.BehaviourNamevar), attribute("serial", `{"type":"integer"}`, v1alpha1.BehaviourProperty)},
		Providers:  []v1alpha1.ExternalProvider{{Name: "python", Command: []string{"./main.py"}}},
		Source:     v1alpha1.ExternalSource{Files: map[string]string{"main.py": "#!/usr/bin/python3\n"}},
	}
	d, err := definition.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func zone(name, serial string) v1alpha1.Resource {
	z := v1alpha1.NamedResource("DNSZone", name).(*v1alpha1.External)
	z.Spec.NodeSelector = file("x", "").GetTargeting().NodeSelector
	z.Spec.Properties = &runtime.RawExtension{Raw: []byte(`{"serial":` + serial + `}`)}
	return z
}

func TestKindsOfExternalTypesArePlannedLikeOthers(t *testing.T) {
	t.Parallel()
	d := zones(t)
	base := baseOf(nil)
	base.Input.Nodes = []compiler.Node{node("dns-1", nil)}
	base.Input.Resources = []v1alpha1.Resource{zone("same", "1"), zone("serial", "1"), zone("gone", "1")}
	base.Input.Kinds = append(base.Input.Kinds, external.Kind(d, nil))
	base.Input.External = map[string]compiler.ExternalKind{"DNSZone": {Type: d.Ref()}}
	base.Result = compiler.Compile(base.Input)
	p := propose(t, base, planning.Change{
		Put:     []v1alpha1.Resource{zone("same", "1"), zone("serial", "2"), zone("new", "1"), zone("bad", `"x"`)},
		Removes: func(r v1alpha1.Resource) bool { return r.GetName() == "gone" },
	})
	var proposal *reports.Proposal
	unknown := reports.NotChecked + "a question starts no program of an external type"
	got, _ := groupsOf(t, p, fleet{report: `{"resources":[{"ref":"DNSZone/serial","state":"Skipped","message":"` + unknown + `"}]}`, proposals: func(p *reports.Proposal) { proposal = p }}, planning.Request{View: planning.Outcomes})
	if len(got) != 1 || got[0].Report == nil || len(p.Problems) != 1 {
		t.Fatalf("%+v, %+v", got, p.Problems)
	}
	lines := []string{string(p.Problems[0].Ref) + " " + p.Problems[0].Reason}
	for _, c := range got[0].Changes {
		lines = append(lines, fmt.Sprint(c.Ref, " ", c.Action, " ", c.Reason))
	}
	for _, e := range proposal.Entries {
		lines = append(lines, fmt.Sprintf("%s %s", e.Ref(), e.Attributes.Raw))
	}
	lines = append(lines, fmt.Sprint(proposal.Remove))
	want := []string{
		"DNSZone/bad InvalidSpec", "DNSZone/bad Withhold InvalidSpec", "DNSZone/gone Remove ", "DNSZone/new Add ", "DNSZone/serial Change ",
		`DNSZone/new {"serial":1}`, `DNSZone/serial {"serial":2}`, "[DNSZone/gone]",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if raw := string(got[0].Report.Raw); !strings.Contains(raw, unknown) { // who may not see values may know why there are none
		t.Error(raw)
	}
}

// What a node says is text that a terminal does not interpret, and cannot claim more than its answer has room for.
func TestHostileAnswersAreReports(t *testing.T) {
	t.Parallel()
	p := propose(t, baseOf([]compiler.Node{node("a", nil)}), planning.Change{Put: []v1alpha1.Resource{file("a", "a")}, Removes: nothing})
	many := strings.Repeat(`{"ref":"Strange/\u001b[2J","state":"Owned","message":"\u202e\u001b]0;x\u0007","events":[{"property":"\u009b1m","message":"\r","status":"?"}]},`, 8000)
	for name, c := range map[string]struct{ answer, want string }{
		"escapes":          {`{"kind":"\u001b[2J","host":"\u001b[2J","counts":{"failed":99},"resources":[` + many + `{"ref":"File/a","state":"Noop"}]}`, `"counts":{"total":8001,"inSync":0,"changed":0,"outOfSync":0,"failed":0,`},
		"no reference":     {`{"resources":[{"ref":"x"}]}`, "answers something that is not a report"},
		"nested too deep":  {`{"resources":` + strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19) + `}`, "answers something that is not a report"},
		"a number too big": {`{"counts":{"total":1e999}}`, "answers something that is not a report"},
	} {
		for _, view := range []planning.View{planning.Values, planning.Outcomes, planning.Catalogs} {
			got, _ := groupsOf(t, p, fleet{report: c.answer}, planning.Request{View: view})
			text := got[0].Message
			if got[0].Report != nil {
				text = string(got[0].Report.Raw)
			}
			if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' }); i >= 0 || view == planning.Values && !strings.Contains(text, c.want) {
				t.Errorf("%s: at %d: %.300s", name, i, text)
			}
		}
	}
}

func TestChangesOfManyDifferentAnswersAreLimited(t *testing.T) {
	t.Parallel()
	var nodes []compiler.Node
	answers := map[string]string{}
	for i := range 300 {
		name := fmt.Sprintf("n%03d", i)
		nodes = append(nodes, node(name, nil))
		answers[name] = reportOf("x")
		answers[name] = strings.Replace(answers[name], "content changed", "content of "+name+" changed", 1)
	}
	var put []v1alpha1.Resource
	for i := range 150 {
		put = append(put, file(fmt.Sprint("f", i), "x"))
	}
	p := propose(t, baseOf(nodes), planning.Change{Put: put, Removes: nothing})
	got, _ := groupsOf(t, p, fleet{special: answers}, planning.Request{View: planning.Values})
	listed, omitted := 0, 0
	for _, g := range got {
		listed += len(g.Changes)
		omitted += int(g.OmittedChanges)
	}
	if len(got) != 300 || listed != reports.MaxListedChanges || omitted != 300*150-listed {
		t.Errorf("%d groups list %d changes and omit %d", len(got), listed, omitted)
	}
}

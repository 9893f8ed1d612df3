package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
)

// items returns Hosts, each written as its name, an attribute in JSON, and edges such as "require:b". One is invalid if its name has an
// exclamation mark.
func items(t *testing.T, all ...string) []resource.Item {
	t.Helper()
	var out []resource.Item
	for _, text := range all {
		text, invalid := strings.CutPrefix(text, "!")
		words := strings.Fields(text)
		attributes := `{"name":"` + words[0] + `"}`
		if len(words) > 1 && strings.HasPrefix(words[1], `"`) {
			attributes = `{"name":"` + words[0] + `",` + words[1] + `}`
		}
		i := item(t, attributes)
		if invalid {
			i.Resource = nil
		}
		for _, edge := range words[1:] {
			word, name, _ := strings.Cut(edge, ":")
			to := resource.Ref{Kind: "Host", Name: name}
			switch word {
			case "require":
				i.Require = append(i.Require, to)
			case "before":
				i.Before = append(i.Before, to)
			case "notify":
				i.Notify = append(i.Notify, to)
			case "subscribe":
				i.Subscribe = append(i.Subscribe, to)
			}
		}
		out = append(out, i)
	}
	return out
}

// described describes a plan: what each node comes after, what its events go to, and what is wrong with it.
func described(p *plan.Plan, items []resource.Item) []string {
	var all []string
	for n, i := range items {
		line := i.Ref.Name
		for _, before := range p.Graph.Before(n) {
			line += " after " + items[before].Ref.Name
		}
		for _, to := range p.Refreshes[n] {
			line += " refreshes " + items[to].Ref.Name
		}
		if len(p.Cycles[n]) > 0 {
			line += ", in a cycle"
		}
		for _, ref := range p.Cycles[n] {
			line += " " + ref.Name
		}
		if err := p.Dangling[n]; err != nil {
			line += ", " + strings.ReplaceAll(err.Error(), "\n", ", ")
		}
		all = append(all, line)
	}
	return all
}

func TestPlan(t *testing.T) {
	t.Parallel()
	const missing = ", which is not in the catalog: add it or remove the reference"
	for name, c := range map[string]struct{ items, want []string }{
		"orders by what authors wrote": {
			[]string{"a require:b", "b", "c before:b", "d notify:b", "e subscribe:d"},
			[]string{"a after b", "b after c after d", "c", "d refreshes b refreshes e", "e after d"},
		},
		"counts each edge once, and refreshes if one of them does": {
			[]string{"a", "b require:a subscribe:a subscribe:a"}, []string{"a refreshes b", "b after a"},
		},
		"knows edges that lead to nothing": {
			[]string{"a require:x before:y require:b", "b"},
			[]string{"a after b, require names Host/x" + missing + ", before names Host/y" + missing, "b"},
		},
		"breaks cycles up, and orders the others": {
			[]string{"a require:b", "b require:a require:c", "c", "d require:a"},
			[]string{"a, in a cycle a b", "b after c, in a cycle a b", "c", "d after a"},
		},
		"tells cycles apart": {
			[]string{"a require:b", "b require:a", "c require:d require:a", "d require:c", "e require:e"},
			[]string{"a, in a cycle a b", "b, in a cycle a b", "c after a, in a cycle c d", "d, in a cycle c d", "e, in a cycle e"},
		},
		"orders by automatic relations": {
			[]string{`a "links":["b"]`, "b", `c "precedes":["b"]`, `d "notifies":["b"]`, `e "subscribes":["d"]`},
			[]string{"a after b", "b after c after d", "c", "d refreshes b refreshes e", "e after d"},
		},
		"leaves out automatic relations to nothing and to itself": {[]string{`a "links":["x","a","b"]`, "b"}, []string{"a after b", "b"}},
		"knows no names of what is invalid, nor its relations":    {[]string{`!a "links":["b"]`, `b "links":["a"]`, "c require:a"}, []string{"a", "b", "c after a"}},
		"finds other spellings of a name":                         {[]string{`a "links":["B"]`, "b"}, []string{"a after b", "b"}},
		"requires only the nearest that there is":                 {[]string{`a "nearest":["x","a","c","b"]`, "b", "c"}, []string{"a after c", "b", "c"}},
		"lets authors override automatic relations": {
			[]string{`a "links":["b","c"] before:b`, "b", `c "subscribes":["d"]`, "d before:c"}, []string{"a after c", "b after a", "c after d", "d"},
		},
		"drops automatic relations that close a cycle": {
			[]string{"a require:b", "b require:c", `c "links":["a","d"]`, "d"}, []string{"a after b", "b after c", "c after d", "d"},
		},
		"finds the first of several of the same name": {
			[]string{`a "alias":"x"`, `b "alias":"x"`, `c "links":["x"]`}, []string{"a", "b", "c after a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := items(t, c.items...)
			if diff := cmp.Diff(c.want, described(plan.New(all), all)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDotShowsRelationKindsAndCycles(t *testing.T) {
	t.Parallel()
	got := plan.Dot(items(t, "a notify:b", `b "links":["d"]`, "c require:d require:b", `d "notifies":["g"]`, "e require:f", "f require:e", "g"))
	want := `digraph resources {
	node [shape=box];
	"Host/a";
	"Host/b";
	"Host/c";
	"Host/d";
	"Host/e" [color=red];
	"Host/f" [color=red];
	"Host/g";
	"Host/a" -> "Host/b" [style="bold", color=black];
	"Host/d" -> "Host/c" [style="solid", color=black];
	"Host/b" -> "Host/c" [style="solid", color=black];
	"Host/f" -> "Host/e" [style="solid", color=red];
	"Host/e" -> "Host/f" [style="solid", color=red];
	"Host/d" -> "Host/b" [style="dashed", color=black];
	"Host/d" -> "Host/g" [style="dashed,bold", color=black];
}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

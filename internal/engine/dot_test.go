package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
)

func TestDotShowsRelationKindsAndCycles(t *testing.T) {
	m := newMachine()
	got := plan.Dot([]resource.Item{
		m.item(t, "Thing/a", red, "notify:Thing/b"),
		m.item(t, "Thing/b", `{"near":["d"]}`),
		m.item(t, "Thing/c", red, "require:Thing/d", "require:Thing/b"),
		m.item(t, "Thing/d", red),
		m.item(t, "Thing/e", red, "require:Thing/f"),
		m.item(t, "Thing/f", red, "require:Thing/e"),
	})
	want := `digraph resources {
	node [shape=box];
	"Thing/a";
	"Thing/b";
	"Thing/c";
	"Thing/d";
	"Thing/e" [color=red];
	"Thing/f" [color=red];
	"Thing/a" -> "Thing/b" [style="bold", color=black];
	"Thing/d" -> "Thing/c" [style="solid", color=black];
	"Thing/b" -> "Thing/c" [style="solid", color=black];
	"Thing/f" -> "Thing/e" [style="solid", color=red];
	"Thing/e" -> "Thing/f" [style="solid", color=red];
	"Thing/d" -> "Thing/b" [style="dashed", color=black];
}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

package planning_test

import (
	"fmt"
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
)

// BenchmarkPlanOfOneFile plans a changed File for 5,000 nodes with 500 resources. The nodes answer at once.
func BenchmarkPlanOfOneFile(b *testing.B) {
	var nodes []compiler.Node
	for i := range 5000 {
		nodes = append(nodes, node(fmt.Sprintf("n%04d", i), map[string]string{"rack": fmt.Sprint(i % 40)}))
	}
	var all []v1alpha1.Resource
	for i := range 500 {
		all = append(all, file(fmt.Sprintf("f%d", i), "x", func(f *v1alpha1.File) {
			if i%5 == 0 {
				f.Spec.NodeSelector.MatchLabels = map[string]string{"rack": fmt.Sprint(i % 40)}
			}
		}))
	}
	base := baseOf(nodes, all...)
	for b.Loop() {
		p := propose(b, base, planning.Change{Put: []v1alpha1.Resource{file("f1", "y")}, Removes: func(v1alpha1.Resource) bool { return false }})
		groups, last := p.Ask(b.Context(), fleet{report: reportOf("x")}, planning.Request{View: planning.Outcomes})
		if len(p.Nodes) != 5000 || last != "" || len(groups) != 1 {
			b.Fatalf("%d nodes in %d groups, up to %q", len(p.Nodes), len(groups), last)
		}
	}
}

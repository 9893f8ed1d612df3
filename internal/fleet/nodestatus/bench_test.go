package nodestatus_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/providers"
)

// BenchmarkSummaries summarizes 500 resources on 5,000 nodes that are in sync, and during a rollout of all resources.
func BenchmarkSummaries(b *testing.B) {
	in := compiler.Input{Kinds: providers.Kinds()}
	var refs []v1alpha1.ResourceRef
	for i := range 500 {
		f := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("f%03d", i)}}
		f.Spec.NodeSelector, f.Spec.Path, f.Spec.Content = &metav1.LabelSelector{}, "/"+f.Name, new("x")
		in.Resources, refs = append(in.Resources, f), append(refs, v1alpha1.RefOf(f))
	}
	for i := range 5000 {
		in.Nodes = append(in.Nodes, compiler.Node{Name: fmt.Sprintf("node-%04d", i)})
	}
	result := compiler.Compile(in)
	reported := &v1alpha1.NodeCatalog{Status: v1alpha1.NodeCatalogStatus{AgentVersion: "1"}}
	for name, some := range map[string][][]v1alpha1.ResourceRef{"in sync": nil, "rollout": {refs}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var index nodestatus.Index
				for node, want := range result.Nodes {
					index.Add(nodestatus.Node{Name: node, Desired: want, Reported: reported, Progress: nodestatus.Progress{Some: some}})
				}
				for _, ref := range refs {
					index.Summarize(ref, result.Selected[ref])
				}
			}
		})
	}
}

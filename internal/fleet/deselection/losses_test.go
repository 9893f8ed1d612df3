package deselection_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
	"github.com/fettle-dev/fettle/internal/fleet/deselection"
	"github.com/fettle-dev/fettle/providers"
)

// randomFleet returns some nodes and Files, a few of which are rendered for each node or fail to be.
func randomFleet(random *rand.Rand) compiler.Input {
	in := compiler.Input{Kinds: providers.Kinds()}
	for i := range 5 {
		in.Nodes = append(in.Nodes, compiler.Node{Name: fmt.Sprintf("n%d", i), Labels: randomLabels(random)})
	}
	for i := range 8 {
		f := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("f%d", i)}}
		f.UID, f.Generation, f.Spec.Path = types.UID(f.Name), 1, fmt.Sprintf("/%d", i)
		f.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: randomLabels(random)}
		in.Resources = append(in.Resources, randomContent(random, f))
	}
	return in
}

func randomLabels(random *rand.Rand) map[string]string {
	return []map[string]string{{}, {"role": "web"}, {"role": "db"}, {"role": "web", "zone": "a"}}[random.IntN(4)]
}

func randomContent(random *rand.Rand, f *v1alpha1.File) *v1alpha1.File {
	f.Spec.Content, f.Spec.ContentTemplate, f.Spec.Require = nil, nil, nil
	switch random.IntN(5) {
	case 0:
		f.Spec.ContentTemplate = new("{{ .node.name }}")
	case 1:
		f.Spec.ContentTemplate = new("{{ .nothing }}")
	case 2:
		f.Spec.Require = []v1alpha1.ResourceRef{"File/none"}
	default:
		f.Spec.Content = new(fmt.Sprint(random.IntN(3)))
	}
	return f
}

// later returns a fleet after some edits, and the resources that were not deleted or given another
// selector.
func later(random *rand.Rand, in compiler.Input) (next compiler.Input, same map[v1alpha1.ResourceRef]bool) {
	next, same = compiler.Input{Kinds: in.Kinds}, map[v1alpha1.ResourceRef]bool{}
	for _, n := range in.Nodes {
		if random.IntN(2) == 0 {
			n.Labels = randomLabels(random)
		}
		if random.IntN(10) > 0 {
			next.Nodes = append(next.Nodes, n)
		}
	}
	for _, o := range in.Resources {
		f := o.(*v1alpha1.File).DeepCopy()
		ref := v1alpha1.RefOf(f)
		same[ref] = true
		switch random.IntN(6) {
		case 0:
			f.Generation++
			f = randomContent(random, f)
		case 1:
			f.Generation++
			before := f.Spec.NodeSelector
			f.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: randomLabels(random)}
			same[ref] = cmp.Equal(before, f.Spec.NodeSelector)
		case 2:
			f.UID += "x" // deleted, and recreated
			same[ref] = false
		case 3:
			delete(same, ref)
			continue
		}
		next.Resources = append(next.Resources, f)
	}
	return next, same
}

// inSpec returns the resources of a node, including those that are withheld.
func inSpec(result compiler.Result, node string) map[v1alpha1.ResourceRef]bool {
	all := map[v1alpha1.ResourceRef]bool{}
	spec := result.Nodes[node].Spec
	for _, c := range spec.Catalogs {
		for _, e := range result.Catalogs[c.Name].Entries {
			all[e.Ref()] = true
		}
	}
	for _, e := range spec.Entries {
		all[e.Ref()] = true
	}
	for _, w := range spec.Withheld {
		all[w.Ref] = true
	}
	return all
}

// losses returns the unedited resources that nodes lose between two states of a fleet.
func losses(before, now compiler.Input) (lost map[string][]v1alpha1.ResourceRef, had, has compiler.Result) {
	var compiler compiler.Compiler
	had, has = compiler.Compile(before), compiler.Compile(now)
	first := deselection.Edits{}.Observe(before.Resources)
	edits := first.Observe(now.Resources)
	differ := contents.Differ{Entries: func(name string) []v1alpha1.CatalogEntry {
		if c := had.Catalogs[name]; c != nil {
			return c.Entries
		}
		return has.Catalogs[name].Entries
	}}
	lost = map[string][]v1alpha1.ResourceRef{}
	for node, is := range has.Nodes {
		for _, ref := range differ.Diff(had.Nodes[node].Spec, is.Spec).Removed {
			if edits.Unedited(ref, first.Revision()) {
				lost[node] = append(lost[node], ref)
			}
		}
	}
	return lost, had, has
}

func TestOnlyUneditedResourcesThatANodeLosesAreLosses(t *testing.T) {
	t.Parallel()

	found := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		before := randomFleet(random)
		now, same := later(random, before)
		lost, had, has := losses(before, now)
		want := map[string][]v1alpha1.ResourceRef{}
		for node := range has.Nodes {
			will := inSpec(has, node)
			for ref := range inSpec(had, node) {
				if !will[ref] && same[ref] {
					want[node] = append(want[node], ref)
				}
			}
			slices.Sort(want[node])
			found += len(want[node])
		}
		for node, refs := range want {
			if len(refs) == 0 {
				delete(want, node)
			}
		}
		if diff := cmp.Diff(want, lost); diff != "" {
			t.Fatalf("seed %d: lost (-want +got):\n%s", seed, diff)
		}
	}
	if found < 1000 {
		t.Errorf("nodes lost only %d resources: the test proves little", found)
	}
}

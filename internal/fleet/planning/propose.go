package planning

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// A Base is what a change is compared with: the last compilation, and what it was made from. It is immutable.
type Base struct {
	Input  compiler.Input
	Result compiler.Result
	// Types are the ExternalTypes of the cluster.
	Types []*v1alpha1.ExternalType
	// Close returns the errors of reading ConfigMaps and Secrets. It is called once, after Propose.
	Close func() error
}

// A Change is what a plan is about.
type Change struct {
	// Put are created, or replace those of the same kind and name.
	Put []v1alpha1.Resource
	// ConfigMaps replace those of the same name.
	ConfigMaps map[types.NamespacedName]map[string]string
	// Removes reports whether a resource is deleted that is not among Put.
	Removes func(v1alpha1.Resource) bool
}

// Removed returns the resources that a change deletes.
func (b *Base) Removed(c Change) (all []v1alpha1.Resource) {
	put := refsOf(c.Put)
	for _, r := range b.Input.Resources {
		if !put[v1alpha1.RefOf(r)] && r.GetDeletionTimestamp() == nil && c.Removes(r) {
			all = append(all, r)
		}
	}
	return all
}

func refsOf(all []v1alpha1.Resource) map[v1alpha1.ResourceRef]bool {
	refs := make(map[v1alpha1.ResourceRef]bool, len(all))
	for _, r := range all {
		refs[v1alpha1.RefOf(r)] = true
	}
	return refs
}

// apply returns the input of a compilation after a change.
func (b *Base) apply(c Change) compiler.Input {
	in := b.Input
	gone := refsOf(slices.Concat(c.Put, b.Removed(c)))
	in.Resources = slices.Clone(c.Put)
	for _, r := range b.Input.Resources {
		if !gone[v1alpha1.RefOf(r)] {
			in.Resources = append(in.Resources, r)
		}
	}
	in.Refused = maps.Clone(in.Refused)
	maps.DeleteFunc(in.Refused, func(ref v1alpha1.ResourceRef, _ string) bool { return gone[ref] })
	in.ConfigMap = func(ref v1alpha1.KeyRef) (string, bool) {
		if data, ok := c.ConfigMaps[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]; ok {
			value, ok := data[ref.Key]
			return value, ok
		}
		return b.Input.ConfigMap(ref)
	}
	return in
}

// A Proposed is the fleet after a change, beside the fleet before it. It is immutable.
type Proposed struct {
	Total int // nodes
	// Nodes are those whose catalogs change, sorted.
	Nodes    []string
	Problems []reports.PlanProblem
	changes  map[string]*change // by node
}

// Propose compiles a change.
func Propose(b *Base, c Change) *Proposed {
	result := compiler.Compile(b.apply(c))
	p := &Proposed{Total: len(result.Nodes), changes: map[string]*change{}, Problems: newProblems(b.Result.Problems, result.Problems)}
	compare := comparer{before: b.Result.Catalogs, after: result.Catalogs}
	for _, node := range slices.Sorted(maps.Keys(result.Nodes)) {
		was, is := b.Result.Nodes[node], result.Nodes[node]
		if was != nil && was.Digest != is.Digest {
			p.Nodes, p.changes[node] = append(p.Nodes, node), compare.nodes(was, is)
		}
	}
	return p
}

// newProblems returns the problems that the compilation before did not have, or had on fewer nodes. A resource that selects no node
// has none.
func newProblems(before, after []compiler.Problem) []reports.PlanProblem {
	known := count(before)
	var all []reports.PlanProblem
	for p, nodes := range count(after) {
		was, had := known[p]
		if !had || was > 0 && (nodes == 0 || nodes > was) {
			p.Nodes = nodes
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b reports.PlanProblem) int {
		return slices.Compare([]string{string(a.Ref), a.Reason, a.Message}, []string{string(b.Ref), b.Reason, b.Message})
	})
	return all
}

// count counts the nodes of each problem, 0 for all nodes of the resource.
func count(all []compiler.Problem) map[reports.PlanProblem]int32 {
	nodes := map[reports.PlanProblem]int32{}
	for _, p := range all {
		key := reports.PlanProblem{Ref: p.Ref, Reason: p.Reason, Message: p.Message}
		if p.Node == "" {
			nodes[key] = 0
		} else {
			nodes[key]++
		}
	}
	return nodes
}

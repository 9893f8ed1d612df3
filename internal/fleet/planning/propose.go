package planning

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/seal"
)

// A Base is what a change is compared with: the last compilation, and what it was made from. It is immutable.
type Base struct {
	// Input has no Seal.
	Input  compiler.Input
	Result compiler.Result
	// Types are the ExternalTypes of the cluster.
	Types []*v1alpha1.ExternalType
	// Keep is the revision of which nodes keep the entries of resources at fault; nil without RolloutPolicies, or before a rollout.
	Keep *compiler.Revision
	// Waiting are nodes that have yet to get the newest revision, with the one that they have, such as "still at revision 0123456789 by
	// RolloutPolicy prod". They are not asked.
	Waiting map[string]string
	// Close returns the errors of reading ConfigMaps and Secrets. It is called once, after Propose.
	Close func() error
}

// A Change is what a plan is about.
type Change struct {
	// Put are created, or replace resources of the same kind and name.
	Put []v1alpha1.Resource
	// ConfigMaps replace ConfigMaps of the same name.
	ConfigMaps map[types.NamespacedName]map[string]string
	// Unread are the resources of Put whose Secrets are not read, because the caller may only plan. See [compiler.Input].
	Unread map[v1alpha1.ResourceRef]bool
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
	in.Unread, in.Seal = c.Unread, b.seal
	return in
}

// seal returns a value as the node has it, or one without its ciphertext: nothing is sealed for a plan. That a Secret has another
// version since the last compilation is not part of it.
func (b *Base) seal(n *compiler.Node, ref v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
	if was := b.Result.Nodes[n.Name]; was != nil {
		for _, v := range sealedOf(was.Spec, ref) {
			if v.Attribute == attribute && v.From.KeyRef == from.KeyRef {
				return v, nil
			}
		}
	}
	_, err := seal.ParsePublicKey(n.PublicKey)
	return v1alpha1.SealedValue{Attribute: attribute, From: v1alpha1.SealedFrom{KeyRef: from.KeyRef}}, err
}

func sealedOf(spec v1alpha1.NodeCatalogSpec, ref v1alpha1.ResourceRef) []v1alpha1.SealedValue {
	i := slices.IndexFunc(spec.Entries, func(e v1alpha1.CatalogEntry) bool { return e.Ref() == ref })
	if i < 0 {
		return nil
	}
	return spec.Entries[i].Sealed
}

// A Proposed is the fleet after a change, beside the fleet before it. It is safe for concurrent use.
type Proposed struct {
	Total int // nodes
	// Nodes are those whose catalogs change, sorted.
	Nodes    []string
	Problems []reports.PlanProblem
	changes  map[string]*change // by node
	waiting  map[string]string  // why nodes are not asked
	compare  *comparer
}

// room is what a plan may take besides what the last compilation took: about 100 MiB for pairs, and as much for templates.
const (
	roomPairs = 1_000_000
	roomBytes = 96 << 20
)

// Propose compiles a change. It ends with ctx. The error is [ErrTooLarge], or the error of ctx.
func Propose(ctx context.Context, b *Base, c Change) (*Proposed, error) {
	in := b.apply(c)
	in.Limit = compiler.Usage{Pairs: b.Result.Usage.Pairs + roomPairs, Bytes: b.Result.Usage.Bytes + roomBytes}
	in.Stop = ctx.Done()
	result := compiler.CompileFrom(in, b.Keep)
	switch {
	case errors.Is(result.Err, compiler.ErrUsage):
		return nil, ErrTooLarge
	case result.Err != nil:
		return nil, context.Cause(ctx)
	}
	p := &Proposed{Total: len(result.Nodes), changes: map[string]*change{}, waiting: b.Waiting, Problems: problemsOf(b.Result.Problems, result.Problems, refsOf(c.Put))}
	p.compare = newComparer(b.Result.Catalogs, result.Catalogs)
	for _, node := range slices.Sorted(maps.Keys(result.Nodes)) {
		was, is := b.Result.Nodes[node], result.Nodes[node]
		if was == nil || was.Digest == is.Digest {
			continue
		}
		changed, err := p.compare.nodes(ctx, was, is)
		if err != nil {
			return nil, err
		}
		p.Nodes, p.changes[node] = append(p.Nodes, node), changed
	}
	return p, nil
}

// ErrTooLarge is the error of a change that takes too much memory to plan.
var ErrTooLarge = errors.New("the change is too large to plan: it has too many resources on too many nodes, or templates with too much content: plan a part of it")

// problemsOf returns the problems that the compilation before did not have, or had on fewer nodes, and those that put resources have
// still. A resource that selects no node has none.
func problemsOf(before, after []compiler.Problem, put map[v1alpha1.ResourceRef]bool) []reports.PlanProblem {
	known := count(before)
	var all []reports.PlanProblem
	for p, nodes := range count(after) {
		was, had := known[p]
		isNew := !had || was > 0 && (nodes == 0 || nodes > was)
		if isNew || put[p.Ref] {
			p.Nodes, p.Stays = nodes, !isNew
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

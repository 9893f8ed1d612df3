package page

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// waitView is the part of the page of a node that is about its RolloutPolicy. The zero value is of a node that no policy takes.
type waitView struct {
	Policy   string
	Revision string
	Why      string // the node has yet to get the newest of For; "" if it does not wait
	For      []string
	Problem  string // why that is not known
	err      error
}

// waitOf returns what a node waits for. Its labels say which resources concern it.
func (p *page) waitOf(ctx context.Context, n overview.NodeCatalog) (v waitView) {
	policies, err := p.Source.Policies()
	is := n.Spec.Rollout
	if is == nil || !slices.ContainsFunc(policies, func(o v1alpha1.RolloutPolicy) bool { return o.Name == is.Policy }) {
		if is != nil {
			v.err, v.Problem = err, problem(err)
		}
		return v
	}
	v.Policy, v.Revision = is.Policy, v1alpha1.ShortRevision(is.Revision)
	nodes, err := p.Source.Nodes()
	i := slices.IndexFunc(nodes, func(o overview.Node) bool { return o.Name == n.Name })
	if err == nil && i >= 0 {
		var waits overview.Waits
		waits, err = p.Source.Waits(ctx, nodes[i:i+1])
		refs, why := waits.OfNode(nodes[i])
		v.Why = why
		for _, ref := range refs {
			v.For = append(v.For, string(ref))
		}
	}
	v.err, v.Problem = err, problem(err)
	return v
}

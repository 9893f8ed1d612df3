package compiler

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/expression"
)

// A nodeAssignment is the part of a revision that one node gets.
type nodeAssignment struct {
	*evalContext
	targets []*Target               // that select the node
	blocked map[*Draft]*fault.Fault // on this node alone
	own     map[*Draft]*rendering   // entries of this node alone
	stops   []v1alpha1.ResourceRef  // of Remote types, which the node is no longer to act for
	group   *nodeGroup
}

// An assigner assigns one revision. The order of nodes has no influence.
type assigner struct {
	revision *Revision
	actors   *actors
	seal     Sealer
	spent    *meter
	nodes    []*nodeAssignment
	groups   map[string]*nodeGroup
	over     map[string]bool // the templates that exceed a limit, by ID
}

// newAssigner selects nodes and evaluates all expressions.
func newAssigner(r *Revision, nodes []*evalContext, acting *actors, seal Sealer, spent *meter) *assigner {
	a := &assigner{revision: r, actors: acting, seal: seal, spent: spent, groups: map[string]*nodeGroup{}, nodes: make([]*nodeAssignment, len(nodes))}
	for i, n := range nodes {
		a.nodes[i] = &nodeAssignment{evalContext: n, blocked: map[*Draft]*fault.Fault{}, own: map[*Draft]*rendering{}, stops: acting.stops[n.Name]}
	}
	shared, remote := r.divide()
	eachSelected(shared, nodes, spent, func(target, node int, f *fault.Fault) { a.nodes[node].add(shared[target], f) })
	a.addRemote(remote)
	if spent.err == nil {
		a.over = evaluate(a.templates(), spent)
	}
	return a
}

// addRemote adds each target of a Remote type to the node that acts for it.
func (a *assigner) addRemote(targets []*Target) {
	for _, t := range targets {
		name := a.actors.byRef[t.Remote.Ref].node
		i, found := slices.BinarySearchFunc(a.nodes, name, func(n *nodeAssignment, name string) int { return strings.Compare(n.Name, name) })
		if found {
			a.nodes[i].add(t, nil)
		}
	}
}

// templates returns the evaluations of the templates that nodes have.
func (a *assigner) templates() []*evaluation {
	all := map[*Draft]*evaluation{}
	for _, n := range a.nodes {
		own := n.perNode()
		if !a.spent.spend(Usage{Pairs: len(own)}) {
			return nil
		}
		for _, d := range own {
			if d.PerNode.Template == nil {
				continue
			}
			if all[d] == nil {
				all[d] = d.PerNode.evaluation()
			}
			all[d].nodes = append(all[d].nodes, n.evalContext)
		}
	}
	return slices.Collect(maps.Values(all))
}

// add adds a target that selects the node. f withholds its drafts there; nil does not.
func (n *nodeAssignment) add(t *Target, f *fault.Fault) {
	n.targets = append(n.targets, t)
	if f == nil {
		return
	}
	for _, d := range t.Drafts {
		if d.Fault == nil {
			n.blocked[d] = f
		}
	}
}

// perNode returns the drafts that have an entry of the node's own, in the order of the catalog.
func (n *nodeAssignment) perNode() []*Draft {
	var all []*Draft
	for _, t := range n.targets {
		for _, d := range t.Drafts {
			if d.PerNode != nil && d.Fault == nil && n.blocked[d] == nil {
				all = append(all, d)
			}
		}
	}
	slices.SortFunc(all, compareDrafts)
	return all
}

func compareDrafts(a, b *Draft) int { return cmp.Compare(a.Position, b.Position) }

// assign makes the node's own entries, as many as the size budget allows, and finds the group of the node.
func (a *assigner) assign(n *nodeAssignment) {
	left := sizeBudget{node: n.Name, left: maxCatalog}
	for _, d := range n.perNode() {
		if a.over[d.PerNode.ID] {
			n.blocked[d] = overLimit(v1alpha1.ReasonInvalidTemplate, "contentTemplate", "render less")
			continue
		}
		made := n.entryFor(d, a.seal)
		f := made.Fault
		if f == nil {
			f = left.take(d.Ref, made.Size)
		}
		if f != nil {
			n.blocked[d] = f
		} else {
			n.own[d] = made
		}
	}
	key := n.groupKey()
	if a.groups[key] == nil {
		a.groups[key] = newGroup(n, a.revision, a.spent)
	}
	n.group = a.groups[key]
}

// entryFor returns the node's own entry of a draft.
func (n *evalContext) entryFor(d *Draft, seal Sealer) *rendering {
	if d.PerNode.Template == nil {
		return n.sealedFor(d, seal)
	}
	if n.lacksFacts(d.PerNode.Template) {
		return &rendering{Fault: waitingForFacts(n)}
	}
	result, _ := n.results.get(d.PerNode.ID)
	if result.err == nil {
		return result.made
	}
	reason := v1alpha1.ReasonInvalidTemplate
	if errors.Is(result.err, expression.ErrTooLong) {
		reason = v1alpha1.ReasonTooLarge
	}
	return &rendering{Fault: fault.New(reason, "cannot render contentTemplate on %s: %v", n.which(), result.err)}
}

// sealedFor returns the entry with its values sealed for the node.
func (n *evalContext) sealedFor(d *Draft, seal Sealer) *rendering {
	if n.PublicKey == "" && len(d.PerNode.secrets) > 0 {
		return &rendering{Fault: fault.New(v1alpha1.ReasonWaitingForKey, "waits for the key of node %s, which its agent has not published yet", n.Name)}
	}
	made, err := d.PerNode.sealed(func(attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
		return seal(&n.Node, d.Ref, attribute, from)
	})
	switch {
	case errors.Is(err, ErrMissingSecret):
		return &rendering{Fault: fault.New(v1alpha1.ReasonMissingSource, "%v: create it, or wait for the revision without it", err)}
	case err != nil:
		return &rendering{Fault: fault.New(v1alpha1.ReasonWaitingForKey, "waits for another key of node %s: %v", n.Name, err)}
	}
	return made
}

// groupKey returns equal keys for nodes with the same targets on which the same drafts are withheld for the same reasons.
func (n *nodeAssignment) groupKey() string {
	var key strings.Builder
	for _, t := range n.targets {
		fmt.Fprintf(&key, "%d,", t.Index)
	}
	var blocked []string
	for d, f := range n.blocked {
		blocked = append(blocked, fmt.Sprintf("%d:%s", d.Position, f.Reason))
	}
	slices.Sort(blocked)
	key.WriteString(strings.Join(blocked, ","))
	return key.String()
}

// findings returns everything that withholds resources from one node, from the nodes of a group, or from all.
func (a *assigner) findings(selected map[v1alpha1.ResourceRef][]string) fault.Findings {
	all, members := fault.Findings{}, map[*nodeGroup][]string{}
	for _, n := range a.nodes {
		members[n.group] = append(members[n.group], n.Name)
		for d, f := range n.blocked {
			all.Add(d.Ref, f, n.Name)
		}
	}
	for g, nodes := range members {
		for i, faults := range g.faults {
			for _, f := range faults {
				all.Add(g.members[i].Ref, f, nodes...)
			}
		}
	}
	for _, d := range a.revision.Drafts {
		acting := a.actors.byRef[d.Ref]
		if f := cmp.Or(d.Fault, acting.unplaced, acting.held); f != nil {
			all.Add(d.Ref, f, selected[d.Ref]...)
		}
	}
	return all
}

// A sizeBudget is the remaining part of maxCatalog for the entries of one node.
type sizeBudget struct {
	node    string
	left    int
	largest v1alpha1.ResourceRef
	size    int // of the largest
}

// take uses a part of the budget, or returns a fault if too little remains.
func (b *sizeBudget) take(ref v1alpha1.ResourceRef, size int) *fault.Fault {
	if size > b.left {
		return fault.New(v1alpha1.ReasonTooLarge,
			"its %d KiB exceed the remaining %d of %d KiB for the own entries of node %s; %s takes the most, %d KiB: render less, or let nodes share it",
			size>>10, b.left>>10, maxCatalog>>10, b.node, b.largest, b.size>>10)
	}
	if b.left -= size; size > b.size {
		b.largest, b.size = ref, size
	}
	return nil
}

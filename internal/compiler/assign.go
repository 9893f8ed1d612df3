package compiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A nodeAssignment is the part of a revision that one node gets.
type nodeAssignment struct {
	*evalContext
	targets []*target             // that select the node
	blocked map[*draft]*fault     // on this node alone
	own     map[*draft]*rendering // entries of this node alone
	group   *nodeGroup
}

// An assigner assigns one revision. The order of nodes has no influence.
type assigner struct {
	revision *Revision
	seal     Sealer
	nodes    []*nodeAssignment
	groups   map[string]*nodeGroup
	over     map[*draft]bool // whose templates exceed a limit
}

// newAssigner selects nodes and evaluates all expressions.
func newAssigner(r *Revision, nodes []*evalContext, seal Sealer) *assigner {
	a := &assigner{revision: r, seal: seal, groups: map[string]*nodeGroup{}, nodes: make([]*nodeAssignment, len(nodes))}
	for i, n := range nodes {
		a.nodes[i] = &nodeAssignment{evalContext: n, blocked: map[*draft]*fault{}, own: map[*draft]*rendering{}}
	}
	matching := make(map[*target][]*evalContext, len(r.targets))
	for _, t := range r.targets {
		matching[t] = slices.DeleteFunc(slices.Clone(nodes), func(n *evalContext) bool { return !n.matchesAll && !t.Matches(n.Labels) })
	}
	over := evaluateWhens(matching, r.targets)
	for _, t := range r.targets {
		a.selectNodes(t, matching[t], over[t])
	}
	a.over = evaluateTemplates(r.drafts, a.templated())
	return a
}

// templated returns the nodes of each template that can be rendered.
func (a *assigner) templated() map[*draft][]*evalContext {
	all := map[*draft][]*evalContext{}
	for _, n := range a.nodes {
		for _, d := range n.perNode() {
			if d.perNode.template != nil && d.perNode.canRender(n.evalContext) {
				all[d] = append(all[d], n.evalContext)
			}
		}
	}
	return all
}

// selectNodes adds a target to the nodes that it selects. Both are in the order of their names.
func (a *assigner) selectNodes(t *target, matching []*evalContext, over bool) {
	next := 0
	for _, n := range matching {
		for a.nodes[next].evalContext != n {
			next++
		}
		selected, f := true, t.fault
		switch {
		case t.When == nil || f != nil:
		case over:
			f = overLimit(t)
		default:
			selected, f = t.decide(n)
		}
		if selected {
			a.nodes[next].add(t, f)
		}
	}
}

// decide returns whether when selects the node. If that is unknown, the resources are the node's, and withheld.
func (t *target) decide(n *evalContext) (selected bool, f *fault) {
	if !t.canEvaluate(n) {
		return true, waitingForFacts(n)
	}
	result, _ := n.conditions.get(t.key)
	if result.err != nil {
		return true, faultf(v1alpha1.ReasonInvalidWhen, "when %q fails on node %s: %v", t.Text, n.Name, result.err)
	}
	return result.holds, nil
}

// add adds a target that selects the node. f withholds its drafts there; nil does not.
func (n *nodeAssignment) add(t *target, f *fault) {
	n.targets = append(n.targets, t)
	if f == nil {
		return
	}
	for _, d := range t.drafts {
		if d.fault == nil {
			n.blocked[d] = f
		}
	}
}

// perNode returns the drafts that have an entry of the node's own, in the order of the catalog.
func (n *nodeAssignment) perNode() []*draft {
	var all []*draft
	for _, t := range n.targets {
		for _, d := range t.drafts {
			if d.perNode != nil && d.fault == nil && n.blocked[d] == nil {
				all = append(all, d)
			}
		}
	}
	slices.SortFunc(all, compareDrafts)
	return all
}

func compareDrafts(a, b *draft) int { return cmp.Compare(a.place, b.place) }

// assign makes the node's own entries, as many as the size budget allows, and finds the group of the node.
func (a *assigner) assign(n *nodeAssignment) {
	left := sizeBudget{node: n.Name, left: maxCatalog}
	for _, d := range n.perNode() {
		if a.over[d] {
			n.blocked[d] = overTemplateLimit()
			continue
		}
		made := d.perNode.entryFor(n.evalContext, a.seal)
		f := made.fault
		if f == nil {
			f = left.take(d.ref, made.size)
		}
		if f != nil {
			n.blocked[d] = f
		} else {
			n.own[d] = made
		}
	}
	key := n.groupKey()
	if a.groups[key] == nil {
		a.groups[key] = newGroup(n, a.revision.exists)
	}
	n.group = a.groups[key]
}

// groupKey is equal for nodes with the same targets on which the same drafts are withheld for the same reasons.
func (n *nodeAssignment) groupKey() string {
	var key strings.Builder
	for _, t := range n.targets {
		fmt.Fprintf(&key, "%d,", t.index)
	}
	var blocked []string
	for d, f := range n.blocked {
		blocked = append(blocked, fmt.Sprintf("%d:%s", d.place, f.reason))
	}
	slices.Sort(blocked)
	key.WriteString(strings.Join(blocked, ","))
	return key.String()
}

// findings returns everything that withholds resources from one node, from the nodes of a group, or from all.
func (a *assigner) findings(selected map[v1alpha1.ResourceRef][]string) findings {
	all, members := findings{}, map[*nodeGroup][]string{}
	for _, n := range a.nodes {
		members[n.group] = append(members[n.group], n.Name)
		for d, f := range n.blocked {
			all.add(d.ref, f, n.Name)
		}
	}
	for g, nodes := range members {
		for i, faults := range g.faults {
			for _, f := range faults {
				all.add(g.members[i].ref, f, nodes...)
			}
		}
	}
	for _, d := range a.revision.drafts {
		if d.fault != nil {
			all.add(d.ref, d.fault, selected[d.ref]...)
		}
	}
	return all
}

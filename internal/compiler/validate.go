package compiler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/graph"
	"github.com/fettle-dev/fettle/internal/text"
)

// A validation is the result of validateGraph.
type validation struct {
	members []*Draft         // in the order of the catalog
	faults  [][]*fault.Fault // by position: faults of a member in combination with the others
	blocked []string         // by position: the reason that withholds a member anyway; "" for none
}

// A validator finds conflicts, missing references and cycles among the resources of a node.
type validator struct {
	validation
	exists   map[v1alpha1.ResourceRef]bool
	position map[v1alpha1.ResourceRef]int
	graph    *graph.Graph
	names    map[string]string // see namesOf
}

// validateGraph finds conflicts, missing references and cycles among members, and the dependents of members that are
// withheld. blocked has the faults of the node; exists has all resources of the fleet.
func validateGraph(members []*Draft, blocked map[*Draft]*fault.Fault, exists map[v1alpha1.ResourceRef]bool) validation {
	v := &validator{
		validation: validation{members: members, faults: make([][]*fault.Fault, len(members)), blocked: make([]string, len(members))},
		exists:     exists, graph: graph.New(len(members)), position: make(map[v1alpha1.ResourceRef]int, len(members)),
	}
	for i, d := range members {
		v.position[d.Ref] = i
		if f := d.Fault; f != nil {
			v.blocked[i] = f.Reason
		} else if f := blocked[d]; f != nil {
			v.blocked[i] = f.Reason
		}
	}
	v.findConflicts()
	v.resolveEdges()
	v.findCycles()
	v.withholdDependents()
	return v.validation
}

// reason returns the reason why the member at a position is withheld, or "".
func (v *validation) reason(i int) string {
	if v.blocked[i] == "" && len(v.faults[i]) > 0 {
		return v.faults[i][0].Reason
	}
	return v.blocked[i]
}

func (v *validator) fail(i int, f *fault.Fault) { v.faults[i] = append(v.faults[i], f) }

// findConflicts fails all resources with the same identity: the compiler does not guess which one is meant.
func (v *validator) findConflicts() {
	byIdentity := make(map[string][]int, len(v.members))
	for i, d := range v.members {
		if d.Identity != "" && !d.Remote { // see relateRemote
			byIdentity[d.Identity] = append(byIdentity[d.Identity], i)
		}
	}
	for _, conflicting := range byIdentity {
		if len(conflicting) < 2 {
			continue
		}
		for _, i := range conflicting {
			v.fail(i, fault.New(v1alpha1.ReasonConflict, "%s is also claimed by %s on the same node: keep one, or let their nodeSelector or when exclude each other",
				v.members[i].Property, v.others(i, conflicting)))
		}
	}
}

// others names the first resources at positions except one, and the number of the rest.
func (v *validator) others(except int, positions []int) string {
	var refs []v1alpha1.ResourceRef
	for _, i := range positions[:min(len(positions), text.MaxListed+1)] {
		if i != except {
			refs = append(refs, v.members[i].Ref)
		}
	}
	return text.ListOf(len(positions)-1, refs)
}

// maxMissing is the number of missing references of a resource that are explained.
const maxMissing = 10

func (v *validator) resolveEdges() {
	for i, d := range v.members {
		missing := 0
		for _, e := range d.Edges {
			switch other, ok := v.position[e.Ref]; {
			case !ok && missing < maxMissing:
				v.fail(i, fault.New(v1alpha1.ReasonMissingReference, "%s", v.explainMissing(e)).At(e.Attribute, e.Ref))
				missing++
			case !ok:
			case e.First:
				v.graph.Add(other, i)
			default:
				v.graph.Add(i, other)
			}
		}
	}
}

// explainMissing suggests what an edge to a missing resource could mean.
func (v *validator) explainMissing(e edge) string {
	if v.exists[e.Ref] {
		return fmt.Sprintf("%s names %s, which does not apply to the same node: see its nodeSelector and when", e.Attribute, e.Ref)
	}
	if e.Instead != "" {
		return fmt.Sprintf("%s names %s, which does not exist: %s", e.Attribute, e.Ref, e.Instead)
	}
	kind, _, _ := strings.Cut(string(e.Ref), "/")
	return fmt.Sprintf("%s names %s, which does not exist; the node has %s", e.Attribute, e.Ref, v.namesOf(kind))
}

// namesOf names the first resources of a kind.
func (v *validator) namesOf(kind string) string {
	if v.names == nil {
		all := map[string][]v1alpha1.ResourceRef{}
		for _, d := range v.members {
			all[d.Entry.Kind] = append(all[d.Entry.Kind], d.Ref)
		}
		v.names = map[string]string{}
		for kind, refs := range all {
			v.names[kind] = text.List(refs)
		}
	}
	return cmp.Or(v.names[kind], "no "+kind)
}

func (v *validator) findCycles() {
	for _, component := range v.graph.SCCs() {
		cycle := v.graph.Cycle(component)
		var path []string
		for _, i := range append(cycle, cycle[0]) {
			path = append(path, string(v.members[i].Ref))
		}
		f := fault.New(v1alpha1.ReasonDependencyCycle, "%s is a cycle: remove one of these edges", strings.Join(path, " -> "))
		for _, i := range component {
			v.fail(i, v.within(f, i, component))
		}
	}
}

// within returns the fault of a cycle for one of its members, at the edge that the member itself has in it, if any.
func (v *validator) within(f *fault.Fault, member int, component []int) *fault.Fault {
	for _, e := range v.members[member].Edges {
		if other, ok := v.position[e.Ref]; ok && slices.Contains(component, other) {
			return f.At(e.Attribute, e.Ref)
		}
	}
	return f
}

// withholdDependents fails the resources after a withheld resource. A cause that needs a person takes precedence over one
// that goes away by itself.
func (v *validator) withholdDependents() {
	var problems []int
	waiting := map[string][]int{}
	for i := range v.members {
		switch reason := v.reason(i); {
		case reason == "":
		case v1alpha1.WaitsForNode(reason):
			waiting[reason] = append(waiting[reason], i)
		default:
			problems = append(problems, i)
		}
	}
	v.spread(problems, v1alpha1.ReasonDependsOnProblem)
	for _, reason := range slices.Sorted(maps.Keys(waiting)) {
		v.spread(waiting[reason], reason)
	}
}

// spread fails everything that comes after the roots.
func (v *validator) spread(roots []int, reason string) {
	cause := map[int]int{}
	for _, r := range roots {
		cause[r] = r
	}
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		for _, next := range v.graph.After(i) {
			if v.reason(next) != "" {
				continue
			}
			root := cause[i]
			cause[next] = root
			v.fail(next, fault.New(reason, "waits for %s, which is withheld: %s", v.members[root].Ref, v.reason(root)))
			queue = append(queue, next)
		}
	}
}

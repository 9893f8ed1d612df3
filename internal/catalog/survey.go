package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/graph"
)

// A survey finds what can't go together among the resources of a node.
type survey struct {
	drafts  []*draft                      // in catalog order
	blocked map[int]string                // by position: the reason that keeps it from the node
	absent  map[v1alpha1.ResourceRef]bool // what edges name that is not the node's, and whether it exists
	at      map[v1alpha1.ResourceRef]int
	graph   *graph.Graph
	faults  [][]*fault // by position: what the survey found
}

func newSurvey(drafts []*draft, blocked map[int]string, fleet map[v1alpha1.ResourceRef]bool) *survey {
	s := &survey{
		drafts: drafts, blocked: blocked, absent: map[v1alpha1.ResourceRef]bool{},
		at:     make(map[v1alpha1.ResourceRef]int, len(drafts)),
		graph:  graph.New(len(drafts)),
		faults: make([][]*fault, len(drafts)),
	}
	for i, d := range drafts {
		s.at[d.ref] = i
	}
	s.findConflicts()
	s.resolveEdges(fleet)
	s.findCycles()
	s.withholdDependents()
	return s
}

func (s *survey) fail(position int, f *fault) {
	s.faults[position] = append(s.faults[position], f)
}

// findConflicts fails all resources that claim one thing: which of them is meant is
// not for the compiler to guess.
func (s *survey) findConflicts() {
	claims := make(map[string][]int, len(s.drafts))
	for i, d := range s.drafts {
		if d.claim != "" {
			claims[d.claim] = append(claims[d.claim], i)
		}
	}
	for i, d := range s.drafts {
		if len(claims[d.claim]) < 2 {
			continue
		}
		others := s.refsBut(i, claims[d.claim])
		f := faultf(v1alpha1.ReasonConflict, "%s is also claimed by %s on the same node: keep one, or let their nodeSelector or when exclude each other",
			d.property, listed(others))
		f.others = others
		s.fail(i, f)
	}
}

func (s *survey) refsBut(but int, positions []int) []v1alpha1.ResourceRef {
	var refs []v1alpha1.ResourceRef
	for _, i := range positions {
		if i != but {
			refs = append(refs, s.drafts[i].ref)
		}
	}
	return refs
}

func (s *survey) resolveEdges(fleet map[v1alpha1.ResourceRef]bool) {
	for i, d := range s.drafts {
		var missing []string
		for _, e := range d.edges {
			switch other, ok := s.at[e.ref]; {
			case !ok:
				s.absent[e.ref] = fleet[e.ref]
				missing = append(missing, s.explain(e))
			case e.first:
				s.graph.Add(other, i)
			default:
				s.graph.Add(i, other)
			}
		}
		if len(missing) > 0 {
			s.fail(i, faultf(v1alpha1.ReasonMissingReference, "%s", strings.Join(missing, "; ")))
		}
	}
}

// explain says what an edge that leads to nothing might have meant.
func (s *survey) explain(e edge) string {
	if s.absent[e.ref] {
		return fmt.Sprintf("%s names %s, which does not apply to the same node: see its nodeSelector and when", e.attribute, e.ref)
	}
	kind, _, _ := strings.Cut(string(e.ref), "/")
	var same []v1alpha1.ResourceRef
	for _, d := range s.drafts {
		if d.entry.Kind == kind {
			same = append(same, d.ref)
		}
	}
	if len(same) == 0 {
		return fmt.Sprintf("%s names %s, which does not exist, nor does any other %s on the node", e.attribute, e.ref, kind)
	}
	return fmt.Sprintf("%s names %s, which does not exist; on the node there are %s", e.attribute, e.ref, listed(same))
}

func (s *survey) findCycles() {
	for _, knot := range s.graph.Knots() {
		loop := s.graph.Loop(knot)
		var path []string
		for _, position := range append(loop, loop[0]) {
			path = append(path, string(s.drafts[position].ref))
		}
		for _, position := range knot {
			f := faultf(v1alpha1.ReasonDependencyCycle, "%s is a cycle: remove one of these edges", strings.Join(path, " -> "))
			f.others = s.refsBut(position, knot)
			s.fail(position, f)
		}
	}
}

// withholdDependents fails what comes after something that waits. Where both are so,
// a problem that needs a person counts before one that goes away by itself.
func (s *survey) withholdDependents() {
	var problems []int
	waits := map[string][]int{}
	for i := range s.drafts {
		switch reason := s.reason(i); {
		case reason == "":
		case v1alpha1.WaitsForNode(reason):
			waits[reason] = append(waits[reason], i)
		default:
			problems = append(problems, i)
		}
	}
	s.spread(problems, v1alpha1.ReasonDependsOnProblem)
	for _, reason := range slices.Sorted(maps.Keys(waits)) {
		s.spread(waits[reason], reason)
	}
}

func (s *survey) spread(roots []int, reason string) {
	cause := map[int]int{}
	queue := roots
	for _, r := range roots {
		cause[r] = r
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, next := range s.graph.After(i) {
			if s.reason(next) != "" {
				continue
			}
			cause[next] = cause[i]
			root := cause[i]
			s.fail(next, faultf(reason, "waits for %s, which is withheld: %s", s.drafts[root].ref, s.reason(root)))
			queue = append(queue, next)
		}
	}
}

// reason is why the resource at a position waits, "" if it does not.
func (s *survey) reason(position int) string {
	if r := s.blocked[position]; r != "" {
		return r
	}
	if f := s.faults[position]; len(f) > 0 {
		return f[0].reason
	}
	return ""
}

// applied are the hashes of what nodes get that is the same on all of them.
func (s *survey) applied() *hashes {
	h := &hashes{make(map[v1alpha1.ResourceRef]string, len(s.drafts))}
	for i, d := range s.drafts {
		if s.reason(i) == "" && d.own == nil {
			h.by[d.ref] = d.hash
		}
	}
	return h
}

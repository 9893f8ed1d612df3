// Package placement decides which node acts for each resource of a Remote type.
//
// Resources with relations to each other are a unit, for which one node acts. A unit stays where it is while that node is
// able to act for it. It moves in two steps, so that no two nodes act at a time: the node before is told to stop, and the next
// one begins when that has stopped. The decision depends only on the nodes and on what they have been told, so it
// is the same for a manager that starts.
package placement

import (
	"crypto/sha256"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// An Assignment is what a node has been told about a resource. The zero value is nothing.
type Assignment int

// Assignments.
const (
	Stopped  Assignment = iota + 1 // not to act; and it does not
	Stopping                       // not to act; but it may do so until it confirms that it has stopped
	Acting                         // to act
)

// A Candidate is a node that can act for resources.
type Candidate struct {
	Name string
	// Eligible means that its agent runs, as far as the manager knows.
	Eligible bool
	// StaysActing means that the node remains the acting one for what it acts for, although it is not Eligible.
	StaysActing bool
	// Held explains StaysActing if that lasts until a person acts; "" if it ends by itself.
	Held        string
	Assignments map[v1alpha1.ResourceRef]Assignment
}

// A Resource needs a node that acts for it.
type Resource struct {
	Ref        v1alpha1.ResourceRef
	Candidates []string               // the nodes that it selects, sorted
	With       []v1alpha1.ResourceRef // it is related to these, which are resources, too
}

// A Decision is about one resource.
type Decision struct {
	// Node is to act; "" if none is to, yet.
	Node string
	// Next is to act once all of Waits have stopped; "" unless Node is "".
	Next  string
	Waits []string
	// Stops are the nodes that are not to act, and may not have stopped yet, sorted.
	Stops []string
}

// Decide decides about all resources. The order of resources and nodes does not matter.
func Decide(resources []Resource, nodes []Candidate) map[v1alpha1.ResourceRef]Decision {
	byName := make(map[string]*Candidate, len(nodes))
	assigned := map[v1alpha1.ResourceRef][]*Candidate{}
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
		for ref := range nodes[i].Assignments {
			assigned[ref] = append(assigned[ref], &nodes[i])
		}
	}
	decisions := make(map[v1alpha1.ResourceRef]Decision, len(resources))
	for _, u := range units(resources) {
		u.decide(byName, assigned, decisions)
	}
	return decisions
}

// decide adds the decisions about the resources of a unit.
func (u unit) decide(nodes map[string]*Candidate, assigned map[v1alpha1.ResourceRef][]*Candidate, decisions map[v1alpha1.ResourceRef]Decision) {
	chosen := u.choose(nodes)
	var busy []string
	for _, ref := range u.refs {
		busy = append(busy, mayAct(ref, assigned[ref], chosen)...)
	}
	slices.Sort(busy)
	busy = slices.Compact(busy)
	for _, ref := range u.refs {
		d := Decision{}
		n := nodes[chosen]
		switch {
		case n == nil:
		case len(busy) == 0 || n.Assignments[ref] == Acting:
			d.Node = chosen
		default:
			d.Next, d.Waits = chosen, busy
		}
		d.Stops = mayAct(ref, assigned[ref], d.Node)
		decisions[ref] = d
	}
}

// mayAct returns the nodes except one that may act for a resource, sorted.
func mayAct(ref v1alpha1.ResourceRef, assigned []*Candidate, except string) (names []string) {
	for _, n := range assigned {
		if n.Name != except && n.Assignments[ref] > Stopped {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// choose returns the candidate that is to act for a unit, "" if there is none.
func (u unit) choose(nodes map[string]*Candidate) string {
	best, highest := "", score{}
	for _, name := range u.candidates {
		n := nodes[name]
		if n == nil {
			continue
		}
		s := u.score(n)
		if !s.eligible && s.acting == 0 {
			continue
		}
		if best == "" || s.exceeds(highest) {
			best, highest = name, s
		}
	}
	return best
}

// A score orders the candidates for a unit.
type score struct {
	eligible bool   // or keeps what it acts for
	acting   int    // the number of resources that it acts for
	known    int    // the number of those that it acts for or has acted for
	rank     string // a hash, which spreads units over nodes and changes little when nodes come and go
}

func (u unit) score(n *Candidate) score {
	s := score{eligible: n.Eligible}
	for _, ref := range u.refs {
		switch n.Assignments[ref] {
		case Acting:
			s.acting++
			s.known++
		case Stopping, Stopped:
			s.known++
		}
	}
	s.eligible = s.eligible || n.StaysActing && s.acting > 0
	sum := sha256.Sum256([]byte(string(u.refs[0]) + "\x00" + n.Name))
	s.rank = string(sum[:])
	return s
}

func (s score) exceeds(o score) bool {
	switch {
	case s.eligible != o.eligible:
		return s.eligible
	case s.acting != o.acting:
		return s.acting > o.acting
	case s.known != o.known:
		return s.known > o.known
	}
	return s.rank > o.rank
}

// A unit is resources that one node acts for.
type unit struct {
	refs       []v1alpha1.ResourceRef // sorted
	candidates []string               // of all of them, sorted
}

// units divides resources into units. Related resources that have no candidate in common are units of their own.
func units(resources []Resource) []unit {
	index := make(map[v1alpha1.ResourceRef]int, len(resources))
	for i, r := range resources {
		index[r.Ref] = i
	}
	roots := make([]int, len(resources)) // a forest: each resource has a parent, which is itself at the root
	for i := range roots {
		roots[i] = i
	}
	root := func(i int) int {
		for roots[i] != i {
			roots[i] = roots[roots[i]]
			i = roots[i]
		}
		return i
	}
	for i, r := range resources {
		for _, ref := range r.With {
			if other, ok := index[ref]; ok {
				roots[root(i)] = root(other)
			}
		}
	}
	members := map[int][]Resource{}
	for i, r := range resources {
		members[root(i)] = append(members[root(i)], r)
	}
	var all []unit
	for _, group := range members {
		all = append(all, unitsOf(group)...)
	}
	return all
}

func unitsOf(group []Resource) []unit {
	u := unit{candidates: group[0].Candidates}
	for _, r := range group {
		u.refs = append(u.refs, r.Ref)
		if !slices.Equal(u.candidates, r.Candidates) {
			u.candidates = common(u.candidates, r.Candidates)
		}
	}
	slices.Sort(u.refs)
	if len(u.candidates) > 0 || len(group) == 1 {
		return []unit{u}
	}
	var alone []unit
	for _, r := range group {
		alone = append(alone, unit{[]v1alpha1.ResourceRef{r.Ref}, r.Candidates})
	}
	return alone
}

// common returns the elements of two sorted lists that both have.
func common(a, b []string) []string {
	var both []string
	for _, name := range a {
		if _, found := slices.BinarySearch(b, name); found {
			both = append(both, name)
		}
	}
	return both
}

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

// A Hold is what a node has been told about a resource. The zero value is nothing.
type Hold int

// Holds.
const (
	Stopped  Hold = iota + 1 // not to act; and it does not
	Stopping                 // not to act; but it may do so until it confirms that it has stopped
	Acting                   // to act
)

// A Node can act for resources.
type Node struct {
	Name string
	// Able means that its agent runs, as far as the manager knows.
	Able bool
	// Keeps means that the node stays the acting one for what it acts for, although it is not Able.
	Keeps bool
	// Held explains Keeps if that lasts until a person acts; "" if it ends by itself.
	Held  string
	Holds map[v1alpha1.ResourceRef]Hold
}

// A Resource needs a node that acts for it.
type Resource struct {
	Ref        v1alpha1.ResourceRef
	Candidates []string               // the nodes that it selects, sorted
	With       []v1alpha1.ResourceRef // it is related to these, which are resources, too
}

// A Place is the decision about a resource.
type Place struct {
	// Node is to act; "" if none is to, yet.
	Node string
	// Next is to act once all of Waits have stopped; "" unless Node is "".
	Next  string
	Waits []string
	// Stops are the nodes that are not to act, and may not have stopped yet, sorted.
	Stops []string
}

// Decide places resources. Neither their order nor that of nodes has an influence.
func Decide(resources []Resource, nodes []Node) map[v1alpha1.ResourceRef]Place {
	byName := make(map[string]*Node, len(nodes))
	holders := map[v1alpha1.ResourceRef][]*Node{}
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
		for ref := range nodes[i].Holds {
			holders[ref] = append(holders[ref], &nodes[i])
		}
	}
	places := make(map[v1alpha1.ResourceRef]Place, len(resources))
	for _, u := range units(resources) {
		u.place(byName, holders, places)
	}
	return places
}

// place decides about the resources of a unit.
func (u unit) place(nodes map[string]*Node, holders map[v1alpha1.ResourceRef][]*Node, places map[v1alpha1.ResourceRef]Place) {
	chosen := u.choose(nodes)
	var busy []string
	for _, ref := range u.refs {
		busy = append(busy, unstopped(ref, holders[ref], chosen)...)
	}
	slices.Sort(busy)
	busy = slices.Compact(busy)
	for _, ref := range u.refs {
		p := Place{}
		n := nodes[chosen]
		switch {
		case n == nil:
		case len(busy) == 0 || n.Holds[ref] == Acting:
			p.Node = chosen
		default:
			p.Next, p.Waits = chosen, busy
		}
		p.Stops = unstopped(ref, holders[ref], p.Node)
		places[ref] = p
	}
}

// unstopped returns the nodes except one that may act for a resource, sorted.
func unstopped(ref v1alpha1.ResourceRef, holders []*Node, except string) (names []string) {
	for _, n := range holders {
		if n.Name != except && n.Holds[ref] > Stopped {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// choose returns the candidate that is to act for a unit, "" if there is none.
func (u unit) choose(nodes map[string]*Node) string {
	best, score := "", standing{}
	for _, name := range u.candidates {
		n := nodes[name]
		if n == nil {
			continue
		}
		s := u.standing(n)
		if !s.able && s.acting == 0 {
			continue
		}
		if best == "" || s.better(score) {
			best, score = name, s
		}
	}
	return best
}

// A standing is what speaks for a candidate.
type standing struct {
	able   bool   // or keeps what it acts for
	acting int    // the number of resources that it acts for
	known  int    // the number of those that it acts for or has acted for
	rank   string // a hash, which spreads units over nodes and changes little when nodes come and go
}

func (u unit) standing(n *Node) standing {
	s := standing{able: n.Able}
	for _, ref := range u.refs {
		switch n.Holds[ref] {
		case Acting:
			s.acting++
			s.known++
		case Stopping, Stopped:
			s.known++
		}
	}
	s.able = s.able || n.Keeps && s.acting > 0
	sum := sha256.Sum256([]byte(string(u.refs[0]) + "\x00" + n.Name))
	s.rank = string(sum[:])
	return s
}

func (s standing) better(o standing) bool {
	switch {
	case s.able != o.able:
		return s.able
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

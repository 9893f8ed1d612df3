package rollout

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
)

// A turn is when a node gets the goal, compared with others.
type turn struct {
	Node
	class             int // abandoned nodes first, of these the failing ones, then those that are well
	round             int // how many nodes of its group come before it
	group, zone, node digest
}

type digest [sha256.Size]byte

// inOrder sorts candidates. Nodes with an abandoned target come first, and of these the ones that fail: what it broke is to be repaired. Each group has a turn before one has
// its second, counting the nodes that have the goal already, so that each kind of node is tried early. Within a group, nodes get
// the goal zone by zone. Otherwise the order is that of hashes of the goal and the name, so that no node is always the first one.
func (r *roster) inOrder(candidates []Node) []Node {
	turns := make([]turn, len(candidates))
	for i, n := range candidates {
		turns[i] = turn{Node: n, class: class(n), group: r.digest(n.Group), zone: r.digest(n.Zone), node: r.digest(n.Name)}
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.class, b.class), a.group.compare(b.group), a.zone.compare(b.zone), a.node.compare(b.node))
	})
	rounds := r.groups()
	for i := range turns {
		turns[i].round = rounds[turns[i].Group]
		rounds[turns[i].Group]++
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.round, b.round)) })
	for i := range turns {
		candidates[i] = turns[i].Node
	}
	return candidates
}

func class(n Node) int {
	switch {
	case n.Abandoned && n.Failing != "":
		return 0
	case n.Abandoned:
		return 1
	case !n.impaired():
		return 2
	}
	return 3
}

// groups returns how many nodes of each group have got the goal.
func (r *roster) groups() map[string]int {
	groups := map[string]int{}
	for i, n := range r.Nodes {
		switch r.roles[i] {
		case inFlight, proven, failed, untried:
			groups[n.Group]++
		case uncounted, candidate, impaired, unheard:
		}
	}
	return groups
}

func (r *roster) digest(name string) digest {
	return sha256.Sum256([]byte(r.State.Goal() + "/" + name))
}

func (d digest) compare(other digest) int { return bytes.Compare(d[:], other[:]) }

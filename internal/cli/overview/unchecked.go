package overview

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
	"github.com/fettle-dev/fettle/internal/text"
)

// An Unchecked says why drift on some nodes is not known.
type Unchecked struct {
	why   string // a format for the number of nodes
	Nodes []string
}

// String is "not checked on 2 silent nodes: web-1, web-2".
func (u Unchecked) String() string {
	return fmt.Sprintf(u.why, text.Count(len(u.Nodes), "node")) + ": " + text.List(u.Nodes)
}

// UncheckedBy returns the nodes of a query that don't check what it selects, by reason.
func UncheckedBy(all []NodeCatalog, q Query) []Unchecked {
	silent, disabled := Unchecked{why: "unknown since the agent fell silent on %s"}, Unchecked{why: "not checked on %s, where runs are disabled"}
	held, withheld := Unchecked{why: "checked against an older catalog on %s, whose update is held"}, Unchecked{why: "resources are withheld, and not checked, on %s"}
	for _, n := range all {
		if len(q.Nodes) > 0 && !slices.Contains(q.Nodes, n.Name) {
			continue
		}
		switch n.State().State {
		case nodestate.Silent:
			silent.Nodes = append(silent.Nodes, n.Name)
		case nodestate.Disabled:
			disabled.Nodes = append(disabled.Nodes, n.Name)
		case nodestate.Held:
			held.Nodes = append(held.Nodes, n.Name)
		case nodestate.Pending, nodestate.Failed, nodestate.Withheld, nodestate.OutOfSync, nodestate.InSync:
		}
		if slices.ContainsFunc(n.Spec.Withheld, func(w v1alpha1.Withheld) bool { return w.IsMissing() && q.selects(string(w.Ref)) }) {
			withheld.Nodes = append(withheld.Nodes, n.Name)
		}
	}
	return slices.DeleteFunc([]Unchecked{held, withheld, silent, disabled}, func(u Unchecked) bool { return len(u.Nodes) == 0 })
}

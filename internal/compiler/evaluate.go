package compiler

import (
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/expression"
)

// The limits of evaluations on all nodes together, in units of package expression, which are at most nanoseconds: of one
// resource, and of all resources. They apply to when and to templates separately.
const (
	maxPerExpression = 3_000_000_000
	maxTotal         = 30_000_000_000
)

// A result is the result of an expression on one node.
type result struct {
	holds bool       // of a when
	made  *rendering // of a template
	err   error
	cost  int
	text  [sha256.Size]byte // identifies what a template made
	usage Usage             // of that
}

// A reader is an expression.
type reader interface {
	ReadsFacts() bool
	ReadsNode() bool
}

// An evaluation evaluates an expression on the nodes that it applies to.
type evaluation struct {
	of    reader
	key   string // of the results
	nodes []*evalContext
	run   func(n *evalContext, limit int) result
}

// spend evaluates on all nodes that do not lack facts, and returns the total cost, or false if that exceeds a limit. The order of nodes has no
// influence on that.
func (e *evaluation) spend(limit int, all *meter) (spent int, ok bool) {
	counted := map[[sha256.Size]byte]bool{}
	for _, n := range e.nodes {
		if n.lacksFacts(e.of) {
			continue
		}
		r, known := n.results.get(e.key)
		if !known {
			if r = e.run(n, limit-spent); errors.Is(r.err, expression.ErrCutOff) {
				return 0, false
			}
			n.results.put(e.key, r)
		}
		var once Usage // many nodes share what a template made
		if !counted[r.text] {
			counted[r.text], once = true, r.usage
		}
		if spent += r.cost; !all.spend(once) || spent > limit {
			return 0, false
		}
	}
	return spent, true
}

// evaluate carries out evaluations, and returns the keys of those that exceed a limit. Each gets an equal share of the
// total first, and what others leave of theirs is divided among those that need more. So one that wants too much takes
// nothing from the others. The order of evaluations has no influence.
func evaluate(all []*evaluation, usage *meter) map[string]bool {
	left := maxTotal
	for range 2 {
		limit := min(maxPerExpression, left/max(len(all), 1))
		all = slices.DeleteFunc(all, func(e *evaluation) bool {
			spent, ok := e.spend(limit, usage)
			left -= spent
			return ok
		})
	}
	over := map[string]bool{}
	for _, e := range all {
		over[e.key] = true
	}
	return over
}

// evaluation returns the evaluation of a when.
func (t *Target) evaluation(nodes []*evalContext) *evaluation {
	return &evaluation{of: t.When, key: t.Key, nodes: nodes, run: func(n *evalContext, limit int) (r result) {
		r.holds, r.cost, r.err = t.When.Holds(n.variables(), limit)
		return r
	}}
}

// evaluation returns the evaluation of a template.
func (p *perNodeEntry) evaluation() *evaluation {
	rendered := map[string]*rendering{} // by content, because many nodes get the same
	return &evaluation{of: p.Template, key: p.ID, run: func(n *evalContext, limit int) (r result) {
		var text string
		if text, r.cost, r.err = p.Template.Render(n.variables(), limit); r.err == nil {
			if rendered[text] == nil {
				rendered[text] = p.withContent(text)
			}
			r.made, r.text, r.usage = rendered[text], sha256.Sum256([]byte(text)), usageOf(text)
		}
		return r
	}}
}

// lacksFacts reports whether an expression reads facts that the node has not reported yet, or what is known of no node.
func (n *evalContext) lacksFacts(x reader) bool {
	return x.ReadsFacts() && !n.hasFacts() || x.ReadsNode() && n.Any
}

// which names the node in a message.
func (n *evalContext) which() string {
	if n.Any {
		return "any node"
	}
	return "node " + n.Name
}

func waitingForFacts(n *evalContext) *fault.Fault {
	return fault.New(v1alpha1.ReasonWaitingForFacts, "waits for the facts of node %s, which its agent has not reported yet", n.Name)
}

func overLimit(reason, expression, remedy string) *fault.Fault {
	return fault.New(reason,
		"%s takes more than %d s on all nodes together, or more than its share of the %d s for all resources: read less of the facts, or %s",
		expression, maxPerExpression/1_000_000_000, maxTotal/1_000_000_000, remedy)
}

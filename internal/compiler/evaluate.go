package compiler

import (
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
}

// An evaluation evaluates the expression of a target or draft on the nodes that it applies to.
type evaluation[T any] struct {
	of    T
	key   string // of results
	nodes []*evalContext
	run   func(n *evalContext, limit int) result
}

// spend evaluates on all nodes, and returns the total cost, or false if that exceeds a limit. The order of nodes has no
// influence on that.
func (e *evaluation[T]) spend(limit int) (spent int, ok bool) {
	for _, n := range e.nodes {
		r, known := n.results.get(e.key)
		if !known {
			if r = e.run(n, limit-spent); errors.Is(r.err, expression.ErrCutOff) {
				return 0, false
			}
			n.results.put(e.key, r)
		}
		if spent += r.cost; spent > limit {
			return 0, false
		}
	}
	return spent, true
}

// evaluate carries out evaluations, and returns the targets or drafts that exceed a limit. Each gets an equal share of the
// total first, and what others leave of theirs is divided among those that need more. So one that wants too much takes
// nothing from the others. The order of evaluations has no influence.
func evaluate[T comparable](all []*evaluation[T]) map[T]bool {
	left := maxTotal
	for range 2 {
		limit := min(maxPerExpression, left/max(len(all), 1))
		all = slices.DeleteFunc(all, func(e *evaluation[T]) bool {
			spent, ok := e.spend(limit)
			left -= spent
			return ok
		})
	}
	over := map[T]bool{}
	for _, e := range all {
		over[e.of] = true
	}
	return over
}

// evaluateWhens evaluates the conditions of targets on the nodes that their nodeSelectors match.
func evaluateWhens(matching map[*Target][]*evalContext, targets []*Target) (over map[*Target]bool) {
	var all []*evaluation[*Target]
	for _, t := range targets {
		if t.When == nil || t.Fault != nil {
			continue
		}
		nodes := slices.DeleteFunc(slices.Clone(matching[t]), func(n *evalContext) bool { return !n.canEvaluate(t) })
		all = append(all, &evaluation[*Target]{of: t, key: t.Key, nodes: nodes, run: func(n *evalContext, limit int) (r result) {
			r.holds, r.cost, r.err = t.When.Holds(n.variables(), limit)
			return r
		}})
	}
	return evaluate(all)
}

// canEvaluate reports whether the node has reported the facts that the condition reads.
func (n *evalContext) canEvaluate(t *Target) bool { return !t.When.ReadsFacts() || n.hasFacts() }

// evaluateTemplates renders the templates of drafts on their nodes.
func evaluateTemplates(drafts []*Draft, nodes map[*Draft][]*evalContext) (over map[*Draft]bool) {
	var all []*evaluation[*Draft]
	for _, d := range drafts {
		if len(nodes[d]) == 0 {
			continue
		}
		all = append(all, &evaluation[*Draft]{of: d, key: d.PerNode.ID, nodes: nodes[d], run: func(n *evalContext, limit int) (r result) {
			var text string
			if text, r.cost, r.err = d.PerNode.Template.Render(n.variables(), limit); r.err == nil {
				r.made = d.PerNode.withContent(text)
			}
			return r
		}})
	}
	return evaluate(all)
}

// canRender reports whether the node has reported the facts that the template reads.
func (n *evalContext) canRender(p *perNodeEntry) bool {
	return !p.Template.ReadsFacts() || n.hasFacts()
}

func waitingForFacts(n *evalContext) *fault.Fault {
	return fault.New(v1alpha1.ReasonWaitingForFacts, "waits for the facts of node %s, which its agent has not reported yet", n.Name)
}

func overLimit(t *Target) *fault.Fault {
	return fault.New(v1alpha1.ReasonInvalidWhen,
		"when %q takes more than %d s on all nodes together, or more than its share of the %d s for all resources: read less of the facts, or select by labels",
		t.Text, maxPerExpression/1_000_000_000, maxTotal/1_000_000_000)
}

func overTemplateLimit() *fault.Fault {
	return fault.New(v1alpha1.ReasonInvalidTemplate,
		"contentTemplate takes more than %d s on all nodes together, or more than its share of the %d s for all resources: read less of the facts, or render less",
		maxPerExpression/1_000_000_000, maxTotal/1_000_000_000)
}

package compiler

import (
	"errors"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/budget"
	"github.com/fettle-dev/fettle/internal/compiler/draft"
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
	holds bool             // of a when
	made  *draft.Rendering // of a template
	err   error
	cost  int
}

// An evaluation evaluates the expression of a target or draft on the nodes that it applies to.
type evaluation[T any] struct {
	of    T
	key   string         // of results
	nodes []*evalContext // to evaluate on
	run   func(n *evalContext, limit int) result
	spent int
}

// Spent implements [budget.Consumer].
func (e *evaluation[T]) Spent() int { return e.spent }

// Advance implements [budget.Consumer]. Whether it succeeds does not depend on the order of nodes.
func (e *evaluation[T]) Advance(limit int) bool {
	for len(e.nodes) > 0 && e.spent <= limit {
		n := e.nodes[0]
		r, known := n.results.get(e.key)
		if !known {
			if r = e.run(n, limit-e.spent); errors.Is(r.err, expression.ErrCutOff) {
				return false
			}
			n.results.put(e.key, r)
		}
		e.spent += r.cost
		e.nodes = e.nodes[1:]
	}
	return e.spent <= limit
}

// evaluate carries out evaluations, and returns the targets or drafts that exceed a limit.
func evaluate[T comparable](all []*evaluation[T]) map[T]bool {
	over := map[T]bool{}
	for i := range budget.Divide(all, maxPerExpression, maxTotal) {
		over[all[i].of] = true
	}
	return over
}

// evaluateWhens evaluates the conditions of targets on the nodes that their nodeSelectors match.
func evaluateWhens(matching map[*draft.Target][]*evalContext, targets []*draft.Target) (over map[*draft.Target]bool) {
	var all []*evaluation[*draft.Target]
	for _, t := range targets {
		if t.When == nil || t.Fault != nil {
			continue
		}
		nodes := slices.DeleteFunc(slices.Clone(matching[t]), func(n *evalContext) bool { return !n.canEvaluate(t) })
		all = append(all, &evaluation[*draft.Target]{of: t, key: t.Key, nodes: nodes, run: func(n *evalContext, limit int) (r result) {
			r.holds, r.cost, r.err = t.When.Holds(n.variables(), limit)
			return r
		}})
	}
	return evaluate(all)
}

// canEvaluate reports whether the node has reported the facts that the condition reads.
func (n *evalContext) canEvaluate(t *draft.Target) bool { return !t.When.ReadsFacts() || n.hasFacts() }

// evaluateTemplates renders the templates of drafts on their nodes.
func evaluateTemplates(drafts []*draft.Draft, nodes map[*draft.Draft][]*evalContext) (over map[*draft.Draft]bool) {
	var all []*evaluation[*draft.Draft]
	for _, d := range drafts {
		if len(nodes[d]) == 0 {
			continue
		}
		all = append(all, &evaluation[*draft.Draft]{of: d, key: d.PerNode.ID, nodes: nodes[d], run: func(n *evalContext, limit int) (r result) {
			var text string
			if text, r.cost, r.err = d.PerNode.Template.Render(n.variables(), limit); r.err == nil {
				r.made = d.PerNode.WithContent(text)
			}
			return r
		}})
	}
	return evaluate(all)
}

// canRender reports whether the node has reported the facts that the template reads.
func (n *evalContext) canRender(p *draft.PerNode) bool {
	return !p.Template.ReadsFacts() || n.hasFacts()
}

func waitingForFacts(n *evalContext) *fault.Fault {
	return fault.New(v1alpha1.ReasonWaitingForFacts, "waits for the facts of node %s, which its agent has not reported yet", n.Name)
}

func overLimit(t *draft.Target) *fault.Fault {
	return fault.New(v1alpha1.ReasonInvalidWhen,
		"when %q takes more than %d s on all nodes together, or more than its share of the %d s for all resources: read less of the facts, or select by labels",
		t.Text, maxPerExpression/1_000_000_000, maxTotal/1_000_000_000)
}

func overTemplateLimit() *fault.Fault {
	return fault.New(v1alpha1.ReasonInvalidTemplate,
		"contentTemplate takes more than %d s on all nodes together, or more than its share of the %d s for all resources: read less of the facts, or render less",
		maxPerExpression/1_000_000_000, maxTotal/1_000_000_000)
}

package compiler

import (
	"errors"

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

// A condition is the result of a when on one node.
type condition struct {
	holds bool
	err   error
	cost  int
}

// A content is the result of a template on one node.
type content struct {
	made *draft.Rendering
	err  error
	cost int
}

// An evaluation evaluates one expression on the nodes that it applies to.
type evaluation struct {
	nodes []*evalContext // that have no result yet
	spent int
	// run returns the cost on one node, or false if the expression needs more than limit.
	run func(n *evalContext, limit int) (cost int, ok bool)
}

// Spent implements [budget.Consumer].
func (e *evaluation) Spent() int { return e.spent }

// Advance implements [budget.Consumer]. Whether it succeeds does not depend on the order of nodes.
func (e *evaluation) Advance(limit int) bool {
	for len(e.nodes) > 0 && e.spent <= limit {
		cost, ok := e.run(e.nodes[0], limit-e.spent)
		if !ok {
			return false
		}
		e.spent += cost
		e.nodes = e.nodes[1:]
	}
	return e.spent <= limit
}

// evaluateWhens evaluates the conditions of targets on the nodes that their nodeSelectors match. It returns the targets
// that exceed a limit.
func evaluateWhens(matching map[*draft.Target][]*evalContext, targets []*draft.Target) map[*draft.Target]bool {
	var of []*draft.Target
	var all []*evaluation
	for _, t := range targets {
		if t.When == nil || t.Fault != nil {
			continue
		}
		e := &evaluation{run: func(n *evalContext, limit int) (int, bool) { return n.evaluateWhen(t, limit) }}
		for _, n := range matching[t] {
			if n.canEvaluate(t) {
				e.nodes = append(e.nodes, n)
			}
		}
		of, all = append(of, t), append(all, e)
	}
	over := map[*draft.Target]bool{}
	for i := range budget.Divide(all, maxPerExpression, maxTotal) {
		over[of[i]] = true
	}
	return over
}

func (n *evalContext) evaluateWhen(t *draft.Target, limit int) (cost int, ok bool) {
	result, known := n.conditions.get(t.Key)
	if !known {
		result.holds, result.cost, result.err = t.When.Holds(n.variables(), limit)
		if errors.Is(result.err, expression.ErrCutOff) {
			return 0, false
		}
		n.conditions.put(t.Key, result)
	}
	return result.cost, true
}

// canEvaluate reports whether the node has reported what the condition reads.
func (n *evalContext) canEvaluate(t *draft.Target) bool { return !t.When.ReadsFacts() || n.hasFacts() }

// evaluateTemplates renders templates on their nodes. It returns the drafts whose templates exceed a limit.
func evaluateTemplates(drafts []*draft.Draft, nodes map[*draft.Draft][]*evalContext) map[*draft.Draft]bool {
	var of []*draft.Draft
	var all []*evaluation
	for _, d := range drafts {
		if len(nodes[d]) > 0 {
			run := func(n *evalContext, limit int) (int, bool) { return n.render(d.PerNode, limit) }
			of, all = append(of, d), append(all, &evaluation{nodes: nodes[d], run: run})
		}
	}
	over := map[*draft.Draft]bool{}
	for i := range budget.Divide(all, maxPerExpression, maxTotal) {
		over[of[i]] = true
	}
	return over
}

func (n *evalContext) render(p *draft.PerNode, limit int) (cost int, ok bool) {
	result, known := n.templates.get(p.ID)
	if !known {
		var text string
		text, result.cost, result.err = p.Template.Render(n.variables(), limit)
		if errors.Is(result.err, expression.ErrCutOff) {
			return 0, false
		}
		if result.err == nil {
			result.made = p.WithContent(text)
		}
		n.templates.put(p.ID, result)
	}
	return result.cost, true
}

// canRender reports whether the node has reported what the template reads.
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

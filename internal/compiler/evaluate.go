package compiler

import (
	"errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/budget"
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
	made *rendering
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
func evaluateWhens(matching map[*target][]*evalContext, targets []*target) map[*target]bool {
	var of []*target
	var all []*evaluation
	for _, t := range targets {
		if t.When == nil || t.fault != nil {
			continue
		}
		e := &evaluation{run: t.evaluate}
		for _, n := range matching[t] {
			if t.canEvaluate(n) {
				e.nodes = append(e.nodes, n)
			}
		}
		of, all = append(of, t), append(all, e)
	}
	over := map[*target]bool{}
	for i := range budget.Divide(all, maxPerExpression, maxTotal) {
		over[of[i]] = true
	}
	return over
}

func (t *target) evaluate(n *evalContext, limit int) (cost int, ok bool) {
	result, known := n.conditions.get(t.key)
	if !known {
		result.holds, result.cost, result.err = t.When.Holds(n.variables(), limit)
		if errors.Is(result.err, expression.ErrCutOff) {
			return 0, false
		}
		n.conditions.put(t.key, result)
	}
	return result.cost, true
}

// canEvaluate reports whether the node has reported what the condition reads.
func (t *target) canEvaluate(n *evalContext) bool {
	return !t.When.ReadsFacts() || n.hasFacts()
}

// evaluateTemplates renders templates on their nodes. It returns the drafts whose templates exceed a limit.
func evaluateTemplates(drafts []*draft, nodes map[*draft][]*evalContext) map[*draft]bool {
	var of []*draft
	var all []*evaluation
	for _, d := range drafts {
		if len(nodes[d]) > 0 {
			of, all = append(of, d), append(all, &evaluation{nodes: nodes[d], run: d.perNode.evaluate})
		}
	}
	over := map[*draft]bool{}
	for i := range budget.Divide(all, maxPerExpression, maxTotal) {
		over[of[i]] = true
	}
	return over
}

func waitingForFacts(n *evalContext) *fault {
	return faultf(v1alpha1.ReasonWaitingForFacts, "waits for the facts of node %s, which its agent has not reported yet", n.Name)
}

func overLimit(t *target) *fault {
	return faultf(v1alpha1.ReasonInvalidWhen,
		"when %q takes more than %d s on all nodes together, or more than its share of the %d s for all resources: read less of the facts, or select by labels",
		t.Text, maxPerExpression/1_000_000_000, maxTotal/1_000_000_000)
}

func overTemplateLimit() *fault {
	return faultf(v1alpha1.ReasonInvalidTemplate,
		"contentTemplate takes more than %d s on all nodes together, or more than its share of the %d s for all resources: read less of the facts, or render less",
		maxPerExpression/1_000_000_000, maxTotal/1_000_000_000)
}

package expression

import (
	"errors"
	"fmt"
	"slices"
	"text/template/parse"
)

// A treeMeter has a parse tree charge for each of its nodes that is executed. What runs without a branch, a
// block, is charged for at its beginning, by a mark in its text that [output] knows by its address.
type treeMeter struct {
	marks     map[*byte]Cost
	nodes     int
	variables int
}

// meterTree changes a tree, and returns the costs of its blocks. It refuses trees that are too large to be
// kept and walked, and what can recurse.
func meterTree(root *parse.ListNode) (map[*byte]Cost, error) {
	m := &treeMeter{marks: map[*byte]Cost{}}
	if err := m.block(root, 0); err != nil {
		return nil, err
	}
	return m.marks, nil
}

// The cost of executing one node of a template. What it reads of its operands comes to that.
var nodeCost = Cost{Time: 200, Bytes: 24}

// block meters the nodes of a list. At its end, the list begins with a mark of what they cost.
func (m *treeMeter) block(list *parse.ListNode, depth int) error {
	if list == nil {
		return nil
	}
	if depth > maxNesting {
		return fmt.Errorf("if, with, range and parentheses are nested more than %d deep: split the content into several files", maxNesting)
	}
	cost := nodeCost.times(2) // of the block itself: a turn of a loop, its variables
	for _, n := range list.Nodes {
		c, err := m.node(n, depth)
		if err != nil {
			return err
		}
		cost = cost.Add(c)
	}
	mark := []byte{0}
	m.marks[&mark[0]] = cost
	list.Nodes = slices.Insert(list.Nodes, 0, parse.Node(&parse.TextNode{NodeType: parse.NodeText, Text: mark}))
	return nil
}

func (m *treeMeter) node(n parse.Node, depth int) (Cost, error) {
	switch n := n.(type) {
	case *parse.ActionNode:
		cost, err := m.pipe(n.Pipe, depth)
		if len(n.Pipe.Decl) == 0 {
			then(n.Pipe, printFunction)
		}
		return cost, err
	case *parse.IfNode:
		return m.branch(&n.BranchNode, depth)
	case *parse.WithNode:
		return m.branch(&n.BranchNode, depth)
	case *parse.RangeNode:
		cost, err := m.branch(&n.BranchNode, depth)
		then(n.Pipe, rangeFunction)
		return cost, err
	case *parse.TemplateNode:
		return Cost{}, errNoDefinitions
	case *parse.BreakNode, *parse.ContinueNode:
		return m.count(2000) // they panic and recover
	}
	return m.count(0)
}

func (m *treeMeter) branch(n *parse.BranchNode, depth int) (Cost, error) {
	cost, err := m.pipe(n.Pipe, depth)
	if err == nil {
		err = m.block(n.List, depth+1)
	}
	if err == nil {
		err = m.block(n.ElseList, depth+1)
	}
	return cost, err
}

// pipe meters a pipeline: all its nodes, executed or not.
func (m *treeMeter) pipe(p *parse.PipeNode, depth int) (Cost, error) {
	if m.variables += len(p.Decl); m.variables > maxVariables {
		return Cost{}, fmt.Errorf("it declares more than %d variables: declare fewer", maxVariables)
	}
	total, err := m.count(0)
	for _, c := range p.Cmds {
		cost, e := m.command(c, depth)
		if total = total.Add(cost); e != nil {
			return total, e
		}
	}
	return total, err
}

func (m *treeMeter) command(c *parse.CommandNode, depth int) (Cost, error) {
	total, err := m.count(0)
	for i, arg := range c.Args {
		cost, e := m.argument(arg, depth)
		if total = total.Add(cost); e != nil {
			return total, e
		}
		if i > 0 && compares(c.Args[0]) {
			c.Args[i] = seen(arg)
		}
	}
	return total, err
}

func (m *treeMeter) argument(n parse.Node, depth int) (Cost, error) {
	if depth > maxNesting {
		return Cost{}, fmt.Errorf("parentheses are nested more than %d deep: assign parts to variables", maxNesting)
	}
	switch n := n.(type) {
	case *parse.PipeNode:
		return m.pipe(n, depth+1)
	case *parse.ChainNode:
		cost, err := m.argument(n.Node, depth+1)
		if err != nil {
			return cost, err
		}
		fields, err := m.count(length(n.Field))
		return cost.Add(fields), err
	case *parse.FieldNode:
		return m.count(length(n.Ident))
	case *parse.VariableNode:
		return m.count(maxVariables + length(n.Ident)) // it is looked for among all
	case *parse.IdentifierNode:
		if n.Ident == "call" {
			return Cost{}, errors.New("function call is not available: no value is a function")
		}
	}
	return m.count(0)
}

// length of names that are looked up.
func length(names []string) int {
	total := 0
	for _, s := range names {
		total += 100 + len(s)
	}
	return total
}

// count is the cost of a node, and of what it does besides.
func (m *treeMeter) count(time int) (Cost, error) {
	if m.nodes++; m.nodes > maxNodes {
		return Cost{}, fmt.Errorf("it has more than %d parts: split the content into several files", maxNodes)
	}
	return nodeCost.Add(Cost{Time: time}), nil
}

// compares reports whether a command is a call of a function of text/template that reads its arguments. They are
// charged for on their way into it.
func compares(n parse.Node) bool {
	id, ok := n.(*parse.IdentifierNode)
	return ok && slices.Contains([]string{"eq", "ne", "lt", "le", "gt", "ge", "index"}, id.Ident)
}

// seen is an argument that is charged for.
func seen(n parse.Node) parse.Node {
	call := &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(readFunction), n}}
	return &parse.PipeNode{NodeType: parse.NodePipe, Cmds: []*parse.CommandNode{call}}
}

// then passes what a pipeline comes to through a function.
func then(p *parse.PipeNode, function string) {
	p.Cmds = append(p.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(function)}})
}

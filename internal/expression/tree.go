package expression

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"text/template/parse"
)

// A tree adds up the cost of the nodes of a parse tree, without loops. It makes each loop charge for its turns, and each
// value that is printed or compared for its size.
type tree struct {
	cost       int
	variables  int  // that are declared so far
	atRoot     bool // the dot is the variables of the template
	readsFacts bool
	readsNode  bool
}

// The cost of executing one node of a template, including lookups.
const nodeCost = 400

// block adds the nodes of a list. It rejects templates that are too deep to walk, and those that can recurse.
func (t *tree) block(list *parse.ListNode, depth int) error {
	if list == nil {
		return nil
	}
	if depth > maxNesting {
		return fmt.Errorf("if, with, range and parentheses are nested more than %d deep: split the content into several files", maxNesting)
	}
	for _, n := range list.Nodes {
		if err := t.node(n, depth); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) node(n parse.Node, depth int) error {
	switch n := n.(type) {
	case *parse.ActionNode:
		err := t.pipe(n.Pipe, depth)
		if len(n.Pipe.Decl) == 0 {
			pipeInto(n.Pipe, printFunction)
		}
		return err
	case *parse.IfNode:
		return t.branch(&n.BranchNode, depth, t.atRoot)
	case *parse.WithNode:
		return t.branch(&n.BranchNode, depth, false)
	case *parse.RangeNode:
		before := t.cost
		err := t.branch(&n.BranchNode, depth, false)
		turn := t.cost - before
		pipeInto(n.Pipe, rangeFunction, &parse.NumberNode{NodeType: parse.NodeNumber, IsInt: true, Int64: int64(turn), Text: strconv.Itoa(turn)})
		return err
	case *parse.TemplateNode:
		return errNoDefinitions
	case *parse.BreakNode, *parse.ContinueNode:
		t.cost += 2000 // they panic and recover
	}
	t.cost += nodeCost
	return nil
}

// branch adds a pipeline, a body and an else. bodyAtRoot is set if the dot stays the same in the body.
func (t *tree) branch(n *parse.BranchNode, depth int, bodyAtRoot bool) error {
	outside := t.atRoot
	t.cost += nodeCost
	if err := t.pipe(n.Pipe, depth); err != nil {
		return err
	}
	t.atRoot = bodyAtRoot
	err := t.block(n.List, depth+1)
	t.atRoot = outside
	if err != nil {
		return err
	}
	return t.block(n.ElseList, depth+1)
}

func (t *tree) pipe(p *parse.PipeNode, depth int) error {
	t.variables += len(p.Decl)
	t.cost += nodeCost + len(p.Decl)*t.lookupCost()
	for _, c := range p.Cmds {
		if err := t.command(c, depth); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) command(c *parse.CommandNode, depth int) error {
	t.cost += nodeCost
	for i, arg := range c.Args {
		if err := t.argument(arg, depth); err != nil {
			return err
		}
		if i > 0 && compares(c.Args[0]) {
			c.Args[i] = charged(arg)
		}
	}
	return nil
}

func (t *tree) argument(n parse.Node, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("parentheses are nested more than %d deep: assign parts to variables", maxNesting)
	}
	switch n := n.(type) {
	case *parse.PipeNode:
		return t.pipe(n, depth+1)
	case *parse.ChainNode:
		t.cost += nodeCost
		return t.argument(n.Node, depth+1)
	case *parse.DotNode:
		t.reads(t.atRoot, nil)
	case *parse.FieldNode:
		t.reads(t.atRoot, n.Ident)
	case *parse.VariableNode:
		t.cost += t.lookupCost()
		t.reads(n.Ident[0] == "$", n.Ident[1:])
	case *parse.IdentifierNode:
		if n.Ident == "call" {
			return errors.New("function call is not available: no value is a function")
		}
	}
	t.cost += nodeCost
	return nil
}

// reads notes a path, which may begin at the variables of the template.
func (t *tree) reads(atRoot bool, path []string) {
	t.readsFacts = t.readsFacts || atRoot && (len(path) == 0 || path[0] == "facts")
	t.readsNode = t.readsNode || atRoot && (len(path) == 0 || path[0] == "node")
}

// lookupCost is the cost of looking for a variable among those that are declared above it.
func (t *tree) lookupCost() int { return 4 * t.variables }

// compares reports whether a command calls a function of text/template that reads its arguments.
func compares(n parse.Node) bool {
	id, ok := n.(*parse.IdentifierNode)
	return ok && slices.Contains([]string{"eq", "ne", "lt", "le", "gt", "ge", "index"}, id.Ident)
}

// charged returns an argument that is charged for on its way into a function.
func charged(n parse.Node) parse.Node {
	p := &parse.PipeNode{NodeType: parse.NodePipe}
	pipeInto(p, readFunction, n)
	return p
}

// pipeInto passes the value of a pipeline to a function, after other arguments.
func pipeInto(p *parse.PipeNode, function string, args ...parse.Node) {
	args = append([]parse.Node{parse.NewIdentifier(function)}, args...)
	p.Cmds = append(p.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Args: args})
}

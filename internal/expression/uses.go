package expression

import (
	"slices"
	"strings"
	"text/template/parse"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// Uses are the paths that an expression reads of its variables, such as facts.os.family. A path stands for all that
// is below it; the empty path for all variables.
type Uses [][]string

// Facts reports whether the expression reads facts.
func (u Uses) Facts() bool {
	return slices.ContainsFunc(u, func(path []string) bool { return len(path) == 0 || path[0] == "facts" })
}

// sorted are the paths, each once.
func (u Uses) sorted() Uses {
	slices.SortFunc(u, slices.Compare[[]string])
	return slices.CompactFunc(u, slices.Equal[[]string])
}

// conditionUses are the paths that a CEL expression reads. A macro's variable that has the name of one of ours counts
// as that.
func conditionUses(e ast.Expr) Uses {
	if path, ok := celPath(e); ok {
		if path[0] == "facts" || path[0] == "node" {
			return Uses{path}
		}
		return nil // a macro's variable
	}
	var all Uses
	for _, child := range Children(e) {
		all = append(all, conditionUses(child)...)
	}
	return all.sorted()
}

// celPath is the path that a chain of fields and literal indices is.
func celPath(e ast.Expr) ([]string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return []string{strings.TrimPrefix(e.AsIdent(), ".")}, true
	case ast.SelectKind:
		path, ok := celPath(e.AsSelect().Operand())
		return append(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index || len(call.Args()) != 2 || call.Args()[1].Kind() != ast.LiteralKind {
			return nil, false
		}
		key, ok := call.Args()[1].AsLiteral().Value().(string)
		if !ok {
			return nil, false
		}
		path, ok := celPath(call.Args()[0])
		return append(path, key), ok
	default: // a value of its own
		return nil, false
	}
}

// templateUses are the paths that a template reads. Within range and with, the dot is of what was read before.
func templateUses(list *parse.ListNode, atRoot bool) Uses {
	var all Uses
	if list == nil {
		return nil
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			all = append(all, pipeUses(n.Pipe, atRoot)...)
		case *parse.IfNode:
			all = append(all, branchUses(&n.BranchNode, atRoot, atRoot)...)
		case *parse.RangeNode:
			all = append(all, branchUses(&n.BranchNode, atRoot, false)...)
		case *parse.WithNode:
			all = append(all, branchUses(&n.BranchNode, atRoot, false)...)
		default: // text
		}
	}
	return all.sorted()
}

func branchUses(n *parse.BranchNode, atRoot, bodyAtRoot bool) Uses {
	return slices.Concat(pipeUses(n.Pipe, atRoot), templateUses(n.List, bodyAtRoot), templateUses(n.ElseList, atRoot))
}

func pipeUses(p *parse.PipeNode, atRoot bool) Uses {
	var all Uses
	for _, c := range p.Cmds {
		for _, arg := range c.Args {
			all = append(all, argumentUses(arg, atRoot)...)
		}
	}
	return all
}

func argumentUses(n parse.Node, atRoot bool) Uses {
	switch n := n.(type) {
	case *parse.PipeNode:
		return pipeUses(n, atRoot)
	case *parse.ChainNode:
		return argumentUses(n.Node, atRoot)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return Uses{n.Ident[1:]}
		}
	case *parse.DotNode:
		if atRoot {
			return Uses{{}}
		}
	case *parse.FieldNode:
		if atRoot {
			return Uses{n.Ident}
		}
	}
	return nil
}

// ReadsFacts reports whether the condition reads facts.
func (c *Condition) ReadsFacts() bool { return c.uses.Facts() }

// ReadsFacts reports whether the template reads facts.
func (t *Template) ReadsFacts() bool { return t.uses.Facts() }

package targeting

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/expression"
)

// KubeletControlled returns, sorted, the parts of a targeting that a kubelet can set on its own node: anyone who breaks into
// a node can have it selected. An invalid nodeSelector or when selects nothing and has no such parts.
func KubeletControlled(t *v1alpha1.Targeting, env *expression.Environment) []string {
	var found []string
	if selector, err := metav1.LabelSelectorAsSelector(t.NodeSelector); err == nil {
		requirements, _ := selector.Requirements()
		for _, r := range requirements {
			found = appendLabel(found, r.Key())
		}
	}
	if when := strings.TrimSpace(t.When); when != "" {
		found = append(found, inExpression(when, env)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func appendLabel(found []string, key string) []string {
	if isProtected(key) {
		return found
	}
	return append(found, "label "+key)
}

// isProtected reports whether the admission plugin NodeRestriction keeps kubelets from setting a label on their own Node:
// labels below node-restriction.kubernetes.io, and labels of Kubernetes itself except the ones that kubelets set.
func isProtected(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	switch {
	case !ok:
		return false
	case within(domain, "node-restriction.kubernetes.io"):
		return true
	case !within(domain, "kubernetes.io") && !within(domain, "k8s.io"):
		return false
	case within(domain, "kubelet.kubernetes.io"), within(domain, "node.kubernetes.io"):
		return false
	}
	return !slices.Contains([]string{
		"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch",
		"topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
		"beta.kubernetes.io/instance-type", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
	}, key)
}

func within(domain, of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }

// inExpression returns the parts of an expression that a kubelet can set. Where that is unclear, as for all labels at once,
// it is assumed.
func inExpression(when string, env *expression.Environment) []string {
	parsed, err := env.Parse(when)
	if err != nil {
		return nil
	}
	return visit(ast.NavigateAST(parsed.NativeRep()), nil)
}

func visit(e ast.NavigableExpr, found []string) []string {
	if key, ok := labelOf(e); ok {
		return appendLabel(found, key)
	}
	switch {
	case isIdent(e, "facts"), isIdent(e, "node"):
		return append(found, nameOf(e))
	case e.Kind() == ast.SelectKind && isIdent(e.AsSelect().Operand(), "node"):
		if e.AsSelect().FieldName() == "name" {
			return found
		}
		return append(found, "node."+e.AsSelect().FieldName())
	}
	for _, child := range e.Children() {
		found = visit(child, found)
	}
	return found
}

// labelOf returns the key of the one label that an expression reads: node.labels.a, has(node.labels.a), node.labels["a"] or
// "a" in node.labels.
func labelOf(e ast.Expr) (key string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().FieldName(), isLabels(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch {
		case len(args) != 2:
		case call.FunctionName() == operators.Index && isLabels(args[0]):
			return literal(args[1])
		case call.FunctionName() == operators.In && isLabels(args[1]):
			return literal(args[0])
		}
	default: // it reads nothing
	}
	return "", false
}

func isIdent(e ast.Expr, name string) bool { return e.Kind() == ast.IdentKind && nameOf(e) == name }

// nameOf returns the name of a variable; .node is node at the root.
func nameOf(ident ast.Expr) string { return strings.TrimPrefix(ident.AsIdent(), ".") }

func isLabels(e ast.Expr) bool {
	return e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == "labels" && !e.AsSelect().IsTestOnly() && isIdent(e.AsSelect().Operand(), "node")
}

func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	key, ok := e.AsLiteral().Value().(string)
	return key, ok
}

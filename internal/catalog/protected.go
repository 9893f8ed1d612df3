package catalog

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/expression"
)

// unprotected is why nodes that are targeted like this may not have a Secret: someone who
// broke into one could have it selected. nil where they may.
func unprotected(field string, t *v1alpha1.Targeting) *fault {
	if t.AcceptSelfLabelledNodes {
		return nil
	}
	said := selfSaid(t)
	if len(said) == 0 {
		return nil
	}
	return faultf(v1alpha1.ReasonUnprotectedTargeting,
		"%s brings a Secret to nodes that are selected by what a node may say of itself: %s; select by node.name or by labels below node-restriction.kubernetes.io/, which kubelets may not set, "+
			"or accept it with acceptSelfLabelledNodes: true", field, listed(said))
}

// selfSaid is what of a targeting a node can say of itself, sorted. What is no selector or
// no CEL selects nothing.
func selfSaid(t *v1alpha1.Targeting) []string {
	var found []string
	if selector, err := metav1.LabelSelectorAsSelector(t.NodeSelector); err == nil {
		requirements, _ := selector.Requirements()
		for _, r := range requirements {
			found = appendLabel(found, r.Key())
		}
	}
	if when := strings.TrimSpace(t.When); when != "" {
		found = append(found, selfSaidBy(when)...)
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

// isProtected reports whether no kubelet may set a label on its own Node, where the
// admission plugin NodeRestriction is on: those made for that, and what Kubernetes itself
// has, but for what is a kubelet's to say.
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

// selfSaidBy is what of an expression a node can say of itself. What can't be told apart,
// such as all labels at once, counts as that.
func selfSaidBy(when string) []string {
	parsed, err := new(expression.Environment).Parse(when)
	if err != nil {
		return nil
	}
	return visit(parsed.Expr(), nil)
}

func visit(e ast.Expr, found []string) []string {
	if e == nil {
		return found
	}
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
	for _, child := range expression.Children(e) {
		found = visit(child, found)
	}
	return found
}

// labelOf is the key of the one label that an expression looks at: node.labels.a,
// has(node.labels.a), node.labels["a"] or "a" in node.labels.
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
	default: // no look at anything
	}
	return "", false
}

func isIdent(e ast.Expr, name string) bool { return e.Kind() == ast.IdentKind && nameOf(e) == name }

// nameOf is what a variable is called: .node is node, looked for at the root.
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

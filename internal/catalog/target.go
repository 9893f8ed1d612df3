package catalog

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A target is one targeting: a nodeSelector and a when, and the resources that have both.
type target struct {
	selector labels.Selector
	when     *condition // nil for always
	fault    *fault     // of its selector or when, and so of all its resources
	drafts   []int      // in catalog order
	nodes    []string   // that it selects
	catalogs []v1alpha1.CatalogRef
}

// targetKey is the same for targetings that mean the same, however they are written.
func targetKey(t *v1alpha1.Targeting) string {
	return selectorKey(t.NodeSelector) + "\x00" + strings.TrimSpace(t.When)
}

func selectorKey(s *metav1.LabelSelector) string {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "invalid: " + s.String()
	}
	requirements, selectable := selector.Requirements()
	if !selectable {
		return "nothing"
	}
	var all []string
	for _, r := range requirements {
		all = append(all, r.String())
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

func newTarget(t *v1alpha1.Targeting, env func() (*cel.Env, error)) *target {
	selector, err := metav1.LabelSelectorAsSelector(t.NodeSelector)
	if err != nil {
		return &target{selector: labels.Nothing(), fault: faultf(v1alpha1.ReasonInvalidSelector, "nodeSelector is invalid: %v", err)}
	}
	out := &target{selector: selector}
	if when := strings.TrimSpace(t.When); when != "" {
		if out.when, err = compileWhen(env, when); err != nil {
			out.fault = faultf(v1alpha1.ReasonInvalidWhen, "when %q is invalid: %v", when, err)
		}
	}
	return out
}

// applies reports whether the target selects a node. A fault is why that can't be
// told; then its resources are the node's, and wait.
func (t *target) applies(n *Node) (bool, *fault) {
	if !t.selector.Matches(labels.Set(n.Labels)) {
		return false, nil
	}
	return t.allows(n)
}

func (t *target) allows(n *Node) (bool, *fault) {
	if t.when == nil {
		return true, nil
	}
	if t.when.usesFacts && n.Facts == nil {
		return true, waiting(n)
	}
	holds, err := t.when.holds(n)
	if err != nil {
		return true, faultf(v1alpha1.ReasonInvalidWhen, "when %q fails on node %s: %v", t.when.text, n.Name, err)
	}
	return holds, nil
}

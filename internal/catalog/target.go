package catalog

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/expression"
)

// A selection is one targeting: a nodeSelector and a when.
type selection struct {
	selector labels.Selector
	text     string                // of when
	when     *expression.Condition // nil for always
	results  *evaluations[truth]   // of when
	complete bool                  // all nodes that the selector selects have results
	over     *selection            // in place of this one while its results take too long; nil before they ever did
	fault    *fault                // of its selector or when, and so of all its resources
}

// A target is a selection with the resources that have it. It is not changed once it is
// made, but for what it makes late.
type target struct {
	*selection
	serial   int      // no other of the compiler has the same
	drafts   []*draft // in catalog order
	catalogs map[string]*v1alpha1.Catalog
	refs     []v1alpha1.CatalogRef // to these
}

// pack returns the target's catalogs.
func (t *target) pack() []v1alpha1.CatalogRef {
	if t.catalogs != nil {
		return t.refs
	}
	t.catalogs = map[string]*v1alpha1.Catalog{}
	for _, c := range pack(slices.DeleteFunc(slices.Clone(t.drafts), func(d *draft) bool { return !d.compiled() })) {
		t.catalogs[c.Name] = c
		t.refs = append(t.refs, v1alpha1.CatalogRef{Name: c.Name})
	}
	return t.refs
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

func newSelection(t *v1alpha1.Targeting, env *expression.Environment) *selection {
	selector, err := metav1.LabelSelectorAsSelector(t.NodeSelector)
	if err != nil {
		return &selection{selector: labels.Nothing(), fault: faultf(v1alpha1.ReasonInvalidSelector, "nodeSelector is invalid: %v", err)}
	}
	out := &selection{selector: selector}
	if when := strings.TrimSpace(t.When); when != "" {
		out.text = when
		if out.when, err = env.CompileWhen(when); err != nil {
			out.fault = faultf(v1alpha1.ReasonInvalidWhen, "when %q is invalid: %v", capped(when, maxWhenTold), err)
			return out
		}
		out.results = truthsOf(out.when)
	}
	return out
}

// maxWhenTold is how much of a when is told, in bytes, with what is wrong with it.
const maxWhenTold = 256

// A verdict is whether a node is selected. A fault is why that can't be told; then the
// resources are the node's, and wait.
type verdict struct {
	selected bool
	fault    *fault
}

// matches decides by the selector alone.
func (s *selection) matches(n *subject) bool { return s.selector.Matches(labels.Set(n.Labels)) }

// readable reports whether the node has reported what when reads.
func (s *selection) readable(n *subject) bool { return !s.when.Uses().Facts() || n.reported() }

// allows decides by when alone.
func (s *selection) allows(n *subject) verdict {
	if s.when == nil {
		return verdict{selected: true}
	}
	if !s.readable(n) {
		return verdict{true, waiting(n)}
	}
	t := s.results.of(n)
	if t.err != nil {
		return verdict{true, faultf(v1alpha1.ReasonInvalidWhen, "when %q fails on node %s: %v", capped(s.text, maxWhenTold), n.Name, t.err)}
	}
	return verdict{selected: t.holds}
}

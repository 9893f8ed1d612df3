// Package targeting decides which nodes a resource applies to, and which targetings a node could satisfy by itself.
package targeting

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/expression"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Selection is a compiled nodeSelector and when.
type Selection struct {
	When *expression.Condition // nil if every node is selected that the nodeSelector matches
	Text string                // of when, shortened for messages
	// Fault explains why nodeSelector or when is invalid, nil if both are valid. An invalid nodeSelector matches no node.
	Fault *fault.Fault

	selector labels.Selector
}

// maxQuoted is the number of bytes of a when that messages quote.
const maxQuoted = 256

// New compiles a targeting.
func New(t *v1alpha1.Targeting, env *expression.Environment) *Selection {
	selector, err := metav1.LabelSelectorAsSelector(t.NodeSelector)
	if err != nil {
		return &Selection{selector: labels.Nothing(), Fault: fault.New(v1alpha1.ReasonInvalidSelector, "nodeSelector is invalid: %v", err)}
	}
	s := &Selection{selector: selector}
	when := strings.TrimSpace(t.When)
	if when == "" {
		return s
	}
	s.Text = text.Clip(text.FirstLine(when), maxQuoted)
	if s.When, err = env.CompileWhen(when); err != nil {
		s.Fault = fault.New(v1alpha1.ReasonInvalidWhen, "when %q is invalid: %v", s.Text, err)
	}
	return s
}

// Matches reports whether the nodeSelector matches the labels of a node.
func (s *Selection) Matches(of map[string]string) bool { return s.selector.Matches(labels.Set(of)) }

// Key is equal for targetings with the same meaning, however they are written.
func Key(t *v1alpha1.Targeting) string {
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

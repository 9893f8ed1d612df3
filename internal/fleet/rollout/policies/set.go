// Package policies decides what RolloutPolicies say together: which policy takes a node, which revision a policy may roll out,
// and what stops it. It also describes the state of a policy, as conditions and events.
//
// It is pure. What one policy does with its nodes is decided in the package rollout.
package policies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Set is all RolloutPolicies at one time. The zero value has none.
type Set struct {
	sorted []*policy // by name
	named  map[string]*policy
}

// policy is a RolloutPolicy whose spec is parsed.
type policy struct {
	*v1alpha1.RolloutPolicy
	selector labels.Selector // nil if nodeSelector is invalid
	window   *window         // nil for any time
	// fault names an invalid field, its value and the fix. "" if the spec is valid.
	fault string
}

// New returns the set of all RolloutPolicies. It changes none of them, and the set refers to them.
func New(all []*v1alpha1.RolloutPolicy) *Set {
	s := &Set{named: map[string]*policy{}}
	for _, object := range all {
		p := parse(object)
		s.sorted, s.named[object.Name] = append(s.sorted, p), p
	}
	slices.SortFunc(s.sorted, func(a, b *policy) int { return strings.Compare(a.Name, b.Name) })
	s.validateAfter()
	return s
}

func parse(object *v1alpha1.RolloutPolicy) *policy {
	p := &policy{RolloutPolicy: object}
	selector, err := metav1.LabelSelectorAsSelector(object.Spec.NodeSelector)
	if err != nil {
		p.fault = fmt.Sprintf("spec.nodeSelector is invalid: %s: nodes that no other policy selects are not changed until it is fixed", text.Error(err))
	} else {
		p.selector = selector
	}
	if p.window, err = parseWindow(object.Spec.Window); err != nil {
		p.fault = cmp.Or(p.fault, "spec.window: "+text.Error(err))
	}
	return p
}

// Empty reports whether there is no policy, so that changes reach all nodes at once.
func (s *Set) Empty() bool { return len(s.sorted) == 0 }

// A Selection is which policies select a node. The zero value says that none does: the node gets changes at once.
type Selection struct {
	// Policy takes the node, "" for none.
	Policy string
	// Conflict names the policies of which none moves the node, which keeps what it has: several that select it, without the one named
	// default, which gives way to others; or those that might, because their nodeSelector is invalid, and the one named default. They are sorted.
	Conflict []string
}

// Select returns which policies select a node with these labels.
func (s *Set) Select(nodeLabels map[string]string) Selection {
	var selecting, invalid []string
	for _, p := range s.sorted {
		switch {
		case p.Name == v1alpha1.DefaultRolloutPolicy:
		case p.selector == nil:
			invalid = append(invalid, p.Name)
		case p.selector.Matches(labels.Set(nodeLabels)):
			selecting = append(selecting, p.Name)
		}
	}
	switch {
	case len(selecting) == 1:
		return Selection{Policy: selecting[0]}
	case len(selecting) > 1:
		return Selection{Conflict: selecting}
	case len(invalid) > 0:
		return Selection{Conflict: s.withDefault(invalid)}
	case s.named[v1alpha1.DefaultRolloutPolicy] != nil:
		return Selection{Policy: v1alpha1.DefaultRolloutPolicy}
	}
	return Selection{}
}

// withDefault adds the name of the default policy, if there is one, and sorts.
func (s *Set) withDefault(names []string) []string {
	if s.named[v1alpha1.DefaultRolloutPolicy] != nil {
		names = append(names, v1alpha1.DefaultRolloutPolicy)
	}
	slices.Sort(names)
	return names
}

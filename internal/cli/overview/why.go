package overview

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/expression"
)

// A Resource is the part of a user's resource that explains what happens to it.
type Resource struct {
	Kind              string `json:"kind"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              v1alpha1.Targeting      `json:"spec"`
	Status            v1alpha1.ResourceStatus `json:"status"`
}

// Ref is the resource as Kind/name.
func (r Resource) Ref() v1alpha1.ResourceRef {
	return v1alpha1.ResourceRef(r.Kind + "/" + r.Name)
}

// Selects says which nodes the resource selects: its nodeSelector and when.
func Selects(r Resource) string {
	selects := metav1.FormatLabelSelector(r.Spec.NodeSelector)
	if selects == "" || selects == "<none>" {
		selects = "all nodes"
	}
	if r.Spec.When != "" {
		selects += ", when " + strings.Join(strings.Fields(r.Spec.When), " ")
	}
	return selects
}

// A Node is a Node of the cluster, with its NodeCatalog if it has one.
type Node struct {
	metav1.ObjectMeta `json:"metadata"`
	Catalog           *NodeCatalog `json:"-"`
}

// maxWhen limits a when on all nodes together, in the units of package expression: three seconds at most, as in the manager.
const maxWhen = 3_000_000_000

// Why explains the state of a resource on nodes, in their order. The error is about its nodeSelector or when.
func Why(r Resource, nodes []Node) ([]Explanation, error) {
	s, err := targetingOf(r.Spec)
	if err != nil {
		return nil, err
	}
	all := make([]Explanation, 0, len(nodes))
	for _, n := range nodes {
		e := Explanation{Node: n.Name}
		if e.Reason = s.excludes(n); e.Reason == "" {
			e = explain(r, n)
		} else if held := n.held(); held != nil && slices.Contains(held.Resources, r.Ref()) {
			e.Held, e.Since = true, &held.Since
			e.Reason = "the update of the node is held, so it still has the resource, although " + e.Reason
		}
		all = append(all, e)
	}
	return all, nil
}

// A targeting decides which nodes a resource selects.
type targeting struct {
	selector labels.Selector
	when     *expression.Condition // nil if there is none
	left     int                   // of maxWhen
}

// targetingOf returns the targeting of a resource. The error is about its nodeSelector or when.
func targetingOf(spec v1alpha1.Targeting) (targeting, error) {
	selector, err := metav1.LabelSelectorAsSelector(spec.NodeSelector)
	if err != nil {
		return targeting{}, fmt.Errorf("spec.nodeSelector: %w", err)
	}
	s := targeting{selector: selector, left: maxWhen}
	if text := strings.TrimSpace(spec.When); text != "" {
		if s.when, err = new(expression.Environment).CompileWhen(text); err != nil {
			return targeting{}, fmt.Errorf("spec.when: %w", err)
		}
	}
	return s, nil
}

// excludes returns why a node is not selected, "" if it is.
func (s *targeting) excludes(n Node) string {
	requirements, selectable := s.selector.Requirements()
	if !selectable {
		return "its nodeSelector selects no node"
	}
	for _, r := range requirements {
		if r.Matches(labels.Set(n.Labels)) {
			continue
		}
		if value, has := n.Labels[r.Key()]; has {
			return fmt.Sprintf("its nodeSelector requires %s, and the label is %q", r.String(), value)
		}
		return fmt.Sprintf("its nodeSelector requires %s, and the node has no label %s", r.String(), r.Key())
	}
	if s.when == nil {
		return ""
	}
	return s.whenExcludes(n)
}

// whenExcludes returns why the when of a resource excludes a node; "" if it does not.
func (s *targeting) whenExcludes(n Node) string {
	facts := map[string]any{}
	switch {
	case n.Catalog != nil && len(n.Catalog.Status.Facts) > 0:
		if err := json.Unmarshal(n.Catalog.Status.Facts, &facts); err != nil {
			return "the facts of the node cannot be read: " + err.Error()
		}
	case s.when.ReadsFacts():
		return "its when reads facts, and the node has not reported any"
	}
	holds, cost, err := s.when.Holds(map[string]any{
		"facts": facts,
		"node":  map[string]any{"name": n.Name, "labels": values(n.Labels), "annotations": values(n.Annotations)},
	}, s.left)
	s.left -= cost
	switch {
	case errors.Is(err, expression.ErrCutOff):
		return "its when takes too long on all nodes together"
	case err != nil:
		return "its when fails there: " + err.Error()
	case !holds:
		return "its when is false there"
	}
	return ""
}

func values(m map[string]string) map[string]any {
	all := make(map[string]any, len(m))
	for key, value := range m {
		all[key] = value
	}
	return all
}

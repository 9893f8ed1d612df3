package selection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Selection is the resources that a run is limited to; nil is all of them.
type Selection map[resource.Ref]bool

// Has reports whether a resource is selected.
func (s Selection) Has(ref resource.Ref) bool { return s == nil || s[ref] }

// Select returns the resources that are named, as Kind/name, and match the selector. No names select all, and an
// empty selector matches everything. Refused resources have unknown labels, so every selector matches them. A
// name without a resource is an error, and so is a selector that matches none.
func Select(kinds []resource.Kind, all []v1alpha1.Resource, refused map[v1alpha1.ResourceRef]string, names []string, selector labels.Selector) (Selection, error) {
	if len(names) == 0 && selector.Empty() {
		return nil, nil
	}
	unknown := unlabelled(refused)
	named, err := namedRefs(kinds, slices.Concat(all, unknown), names)
	if err != nil {
		return nil, err
	}
	selected := Selection{}
	isNamed := func(r v1alpha1.Resource) bool { return len(names) == 0 || slices.Contains(named, RefOf(r)) }
	selected.add(all, func(r v1alpha1.Resource) bool { return isNamed(r) && selector.Matches(labels.Set(r.GetLabels())) })
	selected.add(unknown, isNamed)
	if len(selected) == 0 {
		return nil, fmt.Errorf("no resource matches --selector %s%s", selector, labelsOf(all))
	}
	return selected, nil
}

// add selects some resources.
func (s Selection) add(from []v1alpha1.Resource, which func(v1alpha1.Resource) bool) {
	for _, r := range from {
		if which(r) {
			s[RefOf(r)] = true
		}
	}
}

// labelsOf names the labels of resources, as the end of an error.
func labelsOf(all []v1alpha1.Resource) string {
	known := map[string]bool{}
	for _, r := range all {
		for key, value := range r.GetLabels() {
			known[key+"="+value] = true
		}
	}
	if len(known) == 0 {
		return ": the manifests have no labels"
	}
	return ": the manifests have the labels " + text.List(slices.Sorted(maps.Keys(known)))
}

// unlabelled returns resources with only a kind and a name.
func unlabelled(refused map[v1alpha1.ResourceRef]string) []v1alpha1.Resource {
	var all []v1alpha1.Resource
	for ref := range refused {
		kind, name, _ := strings.Cut(string(ref), "/")
		r := v1alpha1.NamedResource(kind, name)
		all = append(all, r)
	}
	return all
}

// RefOf is the reference of a resource.
func RefOf(r v1alpha1.Resource) resource.Ref {
	return resource.Ref{Kind: r.KindName(), Name: r.GetName()}
}

// namedRefs finds resources by words such as File/motd, file/motd or files/motd.
func namedRefs(kinds []resource.Kind, all []v1alpha1.Resource, words []string) ([]resource.Ref, error) {
	var refs []resource.Ref
	for _, word := range words {
		kindWord, name, err := Split(word)
		if err != nil {
			return nil, fmt.Errorf("argument %w; use -f FILE for files", err)
		}
		kind, err := Kind(kinds, kindWord)
		if err != nil {
			return nil, err
		}
		ref := resource.Ref{Kind: kind.Name(), Name: name}
		if !slices.ContainsFunc(all, func(r v1alpha1.Resource) bool { return RefOf(r) == ref }) {
			return nil, fmt.Errorf("the manifests have no %s%s", ref, suggestion(ref, all))
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// suggestion names resources with a similar name, or else some of the kind.
func suggestion(ref resource.Ref, all []v1alpha1.Resource) string {
	var names, sameKind []string
	for _, r := range all {
		other := RefOf(r)
		names = append(names, other.String())
		if other.Kind == ref.Kind {
			sameKind = append(sameKind, other.String())
		}
	}
	if similar := DidYouMean(ref.String(), names); similar != "" {
		return similar
	}
	if len(sameKind) == 0 {
		return fmt.Sprintf(", and nothing else of kind %s", ref.Kind)
	}
	return fmt.Sprintf("; of kind %s they have %s", ref.Kind, text.List(sameKind))
}

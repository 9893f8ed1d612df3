package selection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
// name without a resource is an error.
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
	for _, r := range all {
		if isNamed(r) && selector.Matches(labels.Set(r.GetLabels())) {
			selected[RefOf(r)] = true
		}
	}
	for _, r := range unknown {
		if isNamed(r) {
			selected[RefOf(r)] = true
		}
	}
	return selected, nil
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
		ref, err := resource.ParseRef(word)
		if err != nil {
			return nil, fmt.Errorf("argument %q is not Kind/name, as in File/motd; use -f FILE for files", word)
		}
		kind, err := Kind(kinds, ref.Kind)
		if err != nil {
			return nil, err
		}
		ref.Kind = kind.Name()
		if !slices.ContainsFunc(all, func(r v1alpha1.Resource) bool { return RefOf(r) == ref }) {
			return nil, fmt.Errorf("the manifests have no %s%s", ref, suggestion(ref, all))
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// suggestion names resources with a similar name, or else some of the kind.
func suggestion(ref resource.Ref, all []v1alpha1.Resource) string {
	candidates := &cobra.Command{SuggestionsMinimumDistance: 2}
	var sameKind []string
	for _, r := range all {
		other := RefOf(r)
		candidates.AddCommand(&cobra.Command{Use: other.String(), Run: func(*cobra.Command, []string) {}})
		if other.Kind == ref.Kind {
			sameKind = append(sameKind, other.String())
		}
	}
	const most = 5
	if close := candidates.SuggestionsFor(ref.String()); len(close) > 0 {
		return "; did you mean " + strings.Join(close[:min(len(close), most)], " or ") + "?"
	}
	if len(sameKind) == 0 {
		return fmt.Sprintf(", and nothing else of kind %s", ref.Kind)
	}
	return fmt.Sprintf("; of kind %s they have %s", ref.Kind, text.List(sameKind))
}

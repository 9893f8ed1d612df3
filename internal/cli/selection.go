package cli

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

// A selection is the resources that a run is limited to; nil is all of them.
type selection map[resource.Ref]bool

// has reports whether the run is about a resource.
func (s selection) has(ref resource.Ref) bool { return s == nil || s[ref] }

// selectResources picks those that are named, as Kind/name, and match the selector. Without
// names all are, and an empty selector matches everything. So it may those that were refused,
// whose labels nobody knows. A name that no resource has is an error.
func (a *app) selectResources(all []v1alpha1.Resource, refused map[v1alpha1.ResourceRef]string, names []string, selector labels.Selector) (selection, error) {
	if len(names) == 0 && selector.Empty() {
		return nil, nil
	}
	unknown := unlabelled(refused)
	named, err := a.namedRefs(slices.Concat(all, unknown), names)
	if err != nil {
		return nil, err
	}
	selected := selection{}
	isNamed := func(r v1alpha1.Resource) bool { return len(names) == 0 || slices.Contains(named, refOf(r)) }
	for _, r := range all {
		if isNamed(r) && selector.Matches(labels.Set(r.GetLabels())) {
			selected[refOf(r)] = true
		}
	}
	for _, r := range unknown {
		if isNamed(r) {
			selected[refOf(r)] = true
		}
	}
	return selected, nil
}

// unlabelled are resources of which nothing but kind and name is known.
func unlabelled(refused map[v1alpha1.ResourceRef]string) []v1alpha1.Resource {
	var all []v1alpha1.Resource
	for ref := range refused {
		kind, name, _ := strings.Cut(string(ref), "/")
		r := v1alpha1.NewResource(kind)
		r.SetName(name)
		all = append(all, r)
	}
	return all
}

func refOf(r v1alpha1.Resource) resource.Ref {
	return resource.Ref{Kind: r.KindName(), Name: r.GetName()}
}

// namedRefs finds the resources that words mean: File/motd, file/motd or files/motd.
func (a *app) namedRefs(all []v1alpha1.Resource, words []string) ([]resource.Ref, error) {
	var refs []resource.Ref
	for _, word := range words {
		ref, err := resource.ParseRef(word)
		if err != nil {
			return nil, fmt.Errorf("argument %q is not Kind/name, as in File/motd; give each file as -f FILE", word)
		}
		kind, err := a.kind(ref.Kind)
		if err != nil {
			return nil, err
		}
		ref.Kind = kind.Name()
		if !slices.ContainsFunc(all, func(r v1alpha1.Resource) bool { return refOf(r) == ref }) {
			return nil, fmt.Errorf("the manifests have no %s%s", ref, suggestion(ref, all))
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// suggestion names resources that may have been meant: those with a similar name, or else
// some of the kind.
func suggestion(ref resource.Ref, all []v1alpha1.Resource) string {
	candidates := &cobra.Command{SuggestionsMinimumDistance: 2}
	var sameKind []string
	for _, r := range all {
		other := refOf(r)
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

package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Items binds entries to their types, in the same order. open is for what was sealed for
// the node; nil opens nothing. What can't be opened, or can't be bound because its kind is
// unknown or refuses the attributes, is an item with Invalid set.
func Items(entries []v1alpha1.CatalogEntry, kinds []resource.Kind, open Opener) []resource.Item {
	known := byName(kinds)
	items := make([]resource.Item, len(entries))
	for i, e := range entries {
		items[i] = item(e, known, open)
	}
	return items
}

func byName(kinds []resource.Kind) map[string]resource.Kind {
	m := make(map[string]resource.Kind, len(kinds))
	for _, k := range kinds {
		m[k.Name()] = k
	}
	return m
}

func item(e v1alpha1.CatalogEntry, known map[string]resource.Kind, open Opener) resource.Item {
	var bound resource.Resource
	secrets, err := opened(e, open)
	if err == nil {
		bound, err = bind(resource.Ref{Kind: e.Kind, Name: e.Name}, e, known, secrets)
	}
	it := itemOf(e, bound)
	if err != nil {
		it.Resource, it.Invalid = nil, err
	}
	return it
}

// itemOf is an entry whose attributes are bound already.
func itemOf(e v1alpha1.CatalogEntry, bound resource.Resource) resource.Item {
	it := resource.Item{
		Ref: resource.Ref{Kind: e.Kind, Name: e.Name}, Noop: e.Noop, Provider: e.Provider, Resource: bound,
		Audit: len(e.Audit) > 0, LogLevel: resource.LogLevel(e.LogLevel),
		Deletion: resource.Deletion(e.DeletionPolicy),
	}
	if e.Schedule != nil {
		var err error
		if it.Schedule, err = scheduleOf(*e.Schedule); err != nil {
			it.Resource, it.Invalid = nil, err
		}
	}
	if e.Edges == nil {
		return it
	}
	for _, edges := range []struct {
		from []v1alpha1.ResourceRef
		to   *[]resource.Ref
	}{
		{e.Edges.Require, &it.Require},
		{e.Edges.Before, &it.Before},
		{e.Edges.Notify, &it.Notify},
		{e.Edges.Subscribe, &it.Subscribe},
	} {
		refs, err := parseRefs(edges.from)
		if err != nil && it.Invalid == nil {
			it.Resource, it.Invalid = nil, err
		}
		*edges.to = refs
	}
	return it
}

func parseRefs(refs []v1alpha1.ResourceRef) ([]resource.Ref, error) {
	var out []resource.Ref
	for _, r := range refs {
		ref, err := resource.ParseRef(string(r))
		if err != nil {
			return out, err
		}
		out = append(out, ref)
	}
	return out, nil
}

func bind(ref resource.Ref, e v1alpha1.CatalogEntry, known map[string]resource.Kind, secrets []resource.Secret) (resource.Resource, error) {
	kind, ok := known[ref.Kind]
	if !ok {
		return nil, unknownKind(ref.Kind, known)
	}
	var raw json.RawMessage
	if e.Attributes != nil {
		raw = e.Attributes.Raw
	}
	bound, err := kind.Bind(ref, raw, secrets...)
	if err == nil {
		err = audited(e, bound)
	}
	return bound, err
}

func audited(e v1alpha1.CatalogEntry, bound resource.Resource) error {
	if len(e.Audit) == 0 {
		return nil
	}
	return bound.Audit(e.Audit)
}

func unknownKind(kind string, known map[string]resource.Kind) error {
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Errorf("kind %q is not known to this version of Fettle, which has: %s", kind, strings.Join(names, ", "))
}

package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Items binds entries to their types, in the same order. open opens values that were sealed for the node; nil opens
// none. An entry that cannot be opened or bound becomes an item with Invalid set.
func Items(entries []v1alpha1.CatalogEntry, kinds []resource.Kind, open Opener) []resource.Item {
	items := make([]resource.Item, len(entries))
	for i, e := range entries {
		bound, err := bind(e, kinds, open)
		if unknown(err) {
			err = fmt.Errorf("%w; if a newer manager sent it, %s", err, upgrade)
		}
		items[i] = Item(e, bound)
		if err != nil {
			items[i].Resource, items[i].Invalid = nil, err
		}
		if items[i].Resource == nil {
			items[i].Location = location(e, kinds)
		}
	}
	return items
}

// location returns where an entry that cannot be bound would manage something.
func location(e v1alpha1.CatalogEntry, kinds []resource.Kind) string {
	kind, err := Kind(e.Kind, kinds)
	if err != nil || e.Attributes == nil {
		return ""
	}
	return kind.Location(resource.Ref{Kind: e.Kind, Name: e.Name}, json.RawMessage(e.Attributes.Raw))
}

// Item joins an entry with its bound attributes, which may be nil. Invalid is set if its deletion policy, audit,
// schedule or edges are not valid.
func Item(e v1alpha1.CatalogEntry, bound resource.Resource) resource.Item {
	it := resource.Item{
		Ref: resource.Ref{Kind: e.Kind, Name: e.Name}, Noop: e.Noop, Provider: e.Provider, Resource: bound,
		Audit: len(e.Audit) > 0, LogLevel: resource.LogLevel(e.LogLevel), Deletion: resource.DeletionPolicy(e.DeletionPolicy),
	}
	it.Invalid = cmp.Or(checkPolicy(e.DeletionPolicy), addOptions(&it, e))
	if it.Invalid != nil {
		it.Resource = nil
	}
	return it
}

// checkPolicy rejects a policy that this version does not know, because the closest one may remove what it should not.
func checkPolicy(p v1alpha1.DeletionPolicy) error {
	switch p {
	case "", v1alpha1.DeletionOrphan, v1alpha1.DeletionDelete, v1alpha1.DeletionRestore:
		return nil
	}
	return fmt.Errorf("deletionPolicy %q is not known to this version of Fettle; %s", p, upgrade)
}

func addOptions(it *resource.Item, e v1alpha1.CatalogEntry) (err error) {
	if len(e.Audit) > 0 && it.Resource != nil {
		if err := it.Resource.Audit(e.Audit); err != nil {
			return err
		}
	}
	if e.Schedule != nil {
		if it.Schedule, err = scheduleOf(*e.Schedule); err != nil {
			return err
		}
	}
	if e.Edges == nil {
		return nil
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
		for _, r := range edges.from {
			ref, err := resource.ParseRef(string(r))
			if err != nil {
				return err
			}
			*edges.to = append(*edges.to, ref)
		}
	}
	return nil
}

func bind(e v1alpha1.CatalogEntry, kinds []resource.Kind, open Opener) (resource.Resource, error) {
	kind, err := Kind(e.Kind, kinds)
	if err != nil {
		return nil, err
	}
	secrets, err := unseal(e, open)
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if e.Attributes != nil {
		raw = e.Attributes.Raw
	}
	return kind.Bind(resource.Ref{Kind: e.Kind, Name: e.Name}, raw, secrets...)
}

// Kind returns the kind with a name. The error lists the known kinds.
func Kind(name string, kinds []resource.Kind) (resource.Kind, error) {
	if i := slices.IndexFunc(kinds, func(k resource.Kind) bool { return k.Name() == name }); i >= 0 {
		return kinds[i], nil
	}
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name())
	}
	slices.Sort(names)
	return nil, &unknownKindError{name, names}
}

// An unknownKindError reports a kind that this version does not have.
type unknownKindError struct {
	kind  string
	known []string
}

// Error lists the known kinds.
func (e *unknownKindError) Error() string {
	return fmt.Sprintf("kind %q is not known to this version of Fettle, which has: %s", e.kind, strings.Join(e.known, ", "))
}

// unknown reports whether a newer version may know what this one rejects.
func unknown(err error) bool {
	if _, ok := errors.AsType[*unknownKindError](err); ok {
		return true
	}
	return errors.Is(err, resource.ErrUnknownAttribute)
}

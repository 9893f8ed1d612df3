package compiler

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// A Source has what is stored in the cluster. Its functions return nil if there is nothing of a name. What they return is not changed.
type Source struct {
	Revision func(name string) *v1alpha1.CatalogRevision
	Catalog  func(name string) *v1alpha1.Catalog
	// HasCatalog reports whether there is a Catalog whose content is not needed: one with the definition of a type, which can be large.
	HasCatalog func(name string) bool
}

// targets returns the targets of a CatalogRevision and its parts.
func (s Source) targets(name string) ([]v1alpha1.RevisionTarget, error) {
	r := s.Revision(name)
	if r == nil {
		return nil, fmt.Errorf("there is no CatalogRevision %s", name)
	}
	if is := revisionName(r); is != name {
		return nil, fmt.Errorf("CatalogRevision %s has the content of %s: another version of Fettle wrote it, or it was changed", name, is)
	}
	all := slices.Clone(r.Targets)
	for _, part := range r.Parts {
		targets, err := s.targets(part.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, targets...)
	}
	return all, nil
}

// entries returns the entries of Catalogs.
func (s Source) entries(catalogs []v1alpha1.CatalogRef) ([]rendering, error) {
	var all []rendering
	for _, ref := range catalogs {
		c := s.Catalog(ref.Name)
		if c == nil {
			return nil, fmt.Errorf("there is no Catalog %s", ref.Name)
		}
		entries, err := verified(ref.Name, c)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// verified returns the entries of a Catalog that has the content its name stands for, with attributes in the form that
// [catalog.Measure] requires.
func verified(name string, c *v1alpha1.Catalog) ([]rendering, error) {
	if all := measureEntries(c.Entries); nameOf(all) == name { // API servers usually keep that form
		return all, nil
	}
	if err := catalog.Verify(name, c); err != nil {
		return nil, err
	}
	entries := slices.Clone(c.Entries)
	for i, e := range entries {
		if e.Attributes != nil {
			entries[i].Attributes, _ = catalog.Encode(json.RawMessage(e.Attributes.Raw)) // it is JSON: Verify has decoded it
		}
	}
	return measureEntries(entries), nil
}

func measureEntries(entries []v1alpha1.CatalogEntry) []rendering {
	all := make([]rendering, len(entries))
	for i, e := range entries {
		all[i].Entry = e
		all[i].Hash, all[i].Size = catalog.Measure(e)
	}
	return all
}

func nameOf(entries []rendering) string {
	hashes := make([]string, len(entries))
	for i, e := range entries {
		hashes[i] = e.Hash
	}
	return catalog.NameOf(hashes)
}

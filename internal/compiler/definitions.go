package compiler

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// definitions say which Catalogs keep the definitions of external types, by type. They are immutable.
type definitions map[string]definition

// A definition is a Catalog with the definition of a type.
type definition struct {
	catalog string
	content *v1alpha1.Catalog // nil if it is only known to exist in the cluster
}

// definitionsOf returns the definitions of the kinds that can be used.
func definitionsOf(external map[string]ExternalKind) definitions {
	all := definitions{}
	for _, kind := range external {
		if kind.Definition != nil {
			all[kind.Type] = definition{kind.Definition.Name, kind.Definition}
		}
	}
	return all
}

// with returns the definitions and others, which take precedence.
func (d definitions) with(others definitions) definitions {
	all := maps.Clone(d)
	if all == nil {
		return others
	}
	maps.Copy(all, others)
	return all
}

// of returns the definitions of the types of drafts, none of which is of a built-in kind, sorted.
func (d definitions) of(drafts iter.Seq[*Draft]) (all []v1alpha1.TypeDefinition) {
	if len(d) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for one := range drafts {
		name := one.Entry.Type
		if is, kept := d[name]; kept && !seen[name] {
			all = append(all, v1alpha1.TypeDefinition{Type: name, Catalog: is.catalog})
		}
		seen[name] = true
	}
	slices.SortFunc(all, func(a, b v1alpha1.TypeDefinition) int { return strings.Compare(a.Type, b.Type) })
	return all
}

// types returns the definitions of the types that nodes can get entries of.
func (r *Revision) types() []v1alpha1.TypeDefinition {
	return r.definitions.of(func(yield func(*Draft) bool) {
		for _, d := range r.Drafts {
			if d.Entry.Type != "" && d.Fault == nil && !yield(d) {
				return
			}
		}
	})
}

// definitions returns the definitions that a CatalogRevision keeps.
func (s Source) definitions(revision string) (definitions, error) {
	all := definitions{}
	for _, t := range s.Revision(revision).Types {
		if !s.HasCatalog(t.Catalog) {
			return nil, fmt.Errorf("there is no Catalog %s with the definition of %s", t.Catalog, t.Type)
		}
		all[t.Type] = definition{catalog: t.Catalog}
	}
	return all, nil
}

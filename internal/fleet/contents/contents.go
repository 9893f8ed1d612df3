// Package contents compares what the specs of NodeCatalogs contain.
//
// A spec names shared Catalogs. Most nodes change from the same Catalogs to the same others,
// so a [Differ] compares each such pair once.
package contents

import (
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// A Diff lists resources, sorted.
type Diff struct {
	Changed []v1alpha1.ResourceRef // added, removed, with other content, or withheld in one spec only
	Removed []v1alpha1.ResourceRef // in the first spec, and not even withheld in the second
}

// A Differ compares specs. It is not safe for concurrent use.
type Differ struct {
	// Entries returns the entries of a Catalog, nil for one that does not exist any more.
	Entries func(name string) []v1alpha1.CatalogEntry

	sets    map[string]set  // by names of Catalogs
	between map[string]Diff // by sets
}

type set map[v1alpha1.ResourceRef]v1alpha1.CatalogEntry

// Diff compares two specs of one node.
func (d *Differ) Diff(before, now v1alpha1.NodeCatalogSpec) Diff {
	diff := d.catalogs(before.Catalogs, now.Catalogs)
	if len(before.Entries)+len(now.Entries)+len(before.Withheld)+len(now.Withheld) == 0 {
		return diff
	}
	own := compare(setOf(before.Entries), setOf(now.Entries))
	was, is := Withheld(before), Withheld(now)
	removed := slices.Concat(diff.Removed, own.Removed, slices.Collect(maps.Keys(was)))
	return Diff{
		Changed: unique(slices.Concat(diff.Changed, own.Changed, missing(was, is), missing(is, was))),
		Removed: unique(slices.DeleteFunc(removed, func(ref v1alpha1.ResourceRef) bool { return d.Contains(now, ref) })),
	}
}

// Contains reports whether a resource is in a spec, or withheld there.
func (d *Differ) Contains(spec v1alpha1.NodeCatalogSpec, ref v1alpha1.ResourceRef) bool {
	_, shared := d.set(spec.Catalogs)[ref]
	return shared ||
		slices.ContainsFunc(spec.Entries, func(e v1alpha1.CatalogEntry) bool { return e.Ref() == ref }) ||
		slices.ContainsFunc(spec.Withheld, func(w v1alpha1.Withheld) bool { return w.Ref == ref })
}

// Withheld returns what a spec withholds, by resource.
func Withheld(spec v1alpha1.NodeCatalogSpec) map[v1alpha1.ResourceRef]v1alpha1.Withheld {
	all := make(map[v1alpha1.ResourceRef]v1alpha1.Withheld, len(spec.Withheld))
	for _, w := range spec.Withheld {
		all[w.Ref] = w
	}
	return all
}

func (d *Differ) catalogs(before, now []v1alpha1.CatalogRef) Diff {
	if slices.Equal(before, now) {
		return Diff{}
	}
	if d.between == nil {
		d.between = map[string]Diff{}
	}
	key := names(before) + ">" + names(now)
	diff, known := d.between[key]
	if !known {
		diff = compare(d.set(before), d.set(now))
		d.between[key] = diff
	}
	return diff
}

func (d *Differ) set(catalogs []v1alpha1.CatalogRef) set {
	if d.sets == nil {
		d.sets = map[string]set{}
	}
	key := names(catalogs)
	s, known := d.sets[key]
	if !known {
		s = set{}
		for _, c := range catalogs {
			maps.Copy(s, setOf(d.Entries(c.Name)))
		}
		d.sets[key] = s
	}
	return s
}

func setOf(entries []v1alpha1.CatalogEntry) set {
	s := make(set, len(entries))
	for _, e := range entries {
		s[e.Ref()] = e
	}
	return s
}

func compare(before, now set) (diff Diff) {
	for ref, was := range before {
		is, stays := now[ref]
		if !stays {
			diff.Removed = append(diff.Removed, ref)
		}
		if !stays || !catalog.SameEntries([]v1alpha1.CatalogEntry{was}, []v1alpha1.CatalogEntry{is}) {
			diff.Changed = append(diff.Changed, ref)
		}
	}
	diff.Changed = append(diff.Changed, missing(now, before)...)
	return Diff{unique(diff.Changed), unique(diff.Removed)}
}

// missing returns the keys of a map that another one lacks.
func missing[V any](of, in map[v1alpha1.ResourceRef]V) (refs []v1alpha1.ResourceRef) {
	for ref := range of {
		if _, there := in[ref]; !there {
			refs = append(refs, ref)
		}
	}
	return refs
}

func unique(refs []v1alpha1.ResourceRef) []v1alpha1.ResourceRef {
	slices.Sort(refs)
	return slices.Compact(refs)
}

func names(catalogs []v1alpha1.CatalogRef) string {
	all := make([]string, len(catalogs))
	for i, c := range catalogs {
		all[i] = c.Name
	}
	return strings.Join(all, ",")
}

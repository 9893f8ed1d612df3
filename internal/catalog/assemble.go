package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// An InvalidCatalogError says that a catalog is not what it should be: its content is
// not what its name says, or can't be decoded. Fetching it again may help, waiting
// does not; nothing of it may be applied.
type InvalidCatalogError struct {
	Name string // of the Catalog; "" for the NodeCatalog's own entries
	Err  error
}

// Error names the catalog.
func (e *InvalidCatalogError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("the node's own entries are invalid: %v", e.Err)
	}
	return fmt.Sprintf("catalog %s is invalid: %v", e.Name, e.Err)
}

// Unwrap returns what is wrong.
func (e *InvalidCatalogError) Unwrap() error { return e.Err }

// Assemble puts a node's entries together: those of its catalogs and its own, without
// the withheld, by kind and name. digest is [Digest] of the spec, and what the agent
// reports as applied. A catalog that is not what its name says is an
// *InvalidCatalogError; what get returns is wrapped.
func Assemble(spec v1alpha1.NodeCatalogSpec, get func(name string) (*v1alpha1.Catalog, error)) (entries []v1alpha1.CatalogEntry, digest string, err error) {
	all, err := collect(spec, get)
	if err != nil {
		return nil, "", err
	}
	withheld := make(map[v1alpha1.ResourceRef]bool, len(spec.Withheld))
	for _, w := range spec.Withheld {
		withheld[w.Ref] = true
	}
	entries = slices.DeleteFunc(all, func(e v1alpha1.CatalogEntry) bool { return withheld[e.Ref()] })
	slices.SortFunc(entries, compareEntries)
	return entries, Digest(spec), nil
}

func compareEntries(a, b v1alpha1.CatalogEntry) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
}

func collect(spec v1alpha1.NodeCatalogSpec, get func(name string) (*v1alpha1.Catalog, error)) ([]v1alpha1.CatalogEntry, error) {
	all := slices.Clone(spec.Entries)
	if err := decodable("", spec.Entries); err != nil {
		return nil, err
	}
	for _, ref := range spec.Catalogs {
		c, err := get(ref.Name)
		if err != nil {
			return nil, fmt.Errorf("cannot get catalog %s: %w", ref.Name, err)
		}
		if err := Verify(ref.Name, c); err != nil {
			return nil, err
		}
		all = append(all, c.Entries...)
	}
	return all, nil
}

// Verify returns an *InvalidCatalogError where a catalog is not the one of that name.
func Verify(name string, c *v1alpha1.Catalog) error {
	if c == nil {
		return &InvalidCatalogError{name, errors.New("it is empty")}
	}
	if err := decodable(name, c.Entries); err != nil {
		return err
	}
	if is := Name(c.Entries); is != name {
		return &InvalidCatalogError{name, fmt.Errorf("its content is that of %s", is)}
	}
	return nil
}

func decodable(catalog string, entries []v1alpha1.CatalogEntry) error {
	for _, e := range entries {
		if _, err := canonicalAttributes(e); err != nil {
			return &InvalidCatalogError{catalog, err}
		}
	}
	return nil
}

// SameSpec reports whether two specs say the same of a node's resources, however
// their JSON is written. Noop is not compared: it is not the compiler's.
func SameSpec(a, b v1alpha1.NodeCatalogSpec) bool {
	return slices.Equal(a.Catalogs, b.Catalogs) &&
		slices.Equal(a.Withheld, b.Withheld) &&
		SameEntries(a.Entries, b.Entries)
}

// SameEntries reports whether entries say the same, however their JSON is written.
func SameEntries(a, b []v1alpha1.CatalogEntry) bool {
	return slices.Equal(entryHashes(a), entryHashes(b))
}

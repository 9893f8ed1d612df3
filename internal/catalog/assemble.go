package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// upgrade says how to make this version understand what a newer one wrote.
const upgrade = "upgrade the agent"

// An InvalidCatalogError reports a catalog whose content does not match its name or cannot be decoded. Fetching it
// again may help; nothing of it may be applied.
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

// Unwrap returns the cause.
func (e *InvalidCatalogError) Unwrap() error { return e.Err }

// Assemble returns the entries of a node, sorted by kind and name: from its catalogs and its own, without the
// withheld. digest is the [Digest] of the spec. get returns a catalog that passes [Verify]; its errors are returned,
// wrapped unless they are an *InvalidCatalogError.
func Assemble(spec v1alpha1.NodeCatalogSpec, get func(name string) (*v1alpha1.Catalog, error)) (entries []v1alpha1.CatalogEntry, digest string, err error) {
	hashes, err := entryHashes(spec.Entries)
	if err := cmp.Or(understood(spec.Entries), err); err != nil {
		return nil, "", &InvalidCatalogError{Err: err}
	}
	entries = slices.Clone(spec.Entries)
	for _, ref := range spec.Catalogs {
		c, err := get(ref.Name)
		if _, invalid := errors.AsType[*InvalidCatalogError](err); invalid {
			return nil, "", err
		}
		if err != nil {
			return nil, "", fmt.Errorf("cannot get catalog %s: %w", ref.Name, err)
		}
		entries = append(entries, c.Entries...)
	}
	entries = spec.Given(entries)
	slices.SortFunc(entries, func(a, b v1alpha1.CatalogEntry) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return entries, DigestOf(spec, hashes), nil
}

// Verify returns an *InvalidCatalogError unless the catalog has the content that its name stands for.
func Verify(name string, c *v1alpha1.Catalog) error {
	if c == nil {
		return &InvalidCatalogError{name, errors.New("it is empty")}
	}
	hashes, err := entryHashes(c.Entries)
	if err := cmp.Or(understood(c.Entries), err); err != nil {
		return &InvalidCatalogError{name, err}
	}
	if is := NameOf(hashes); is != name {
		return &InvalidCatalogError{name, fmt.Errorf("its content is that of %s", is)}
	}
	return nil
}

// understood returns an error if a newer version wrote one of the entries, and this version ignores a part of it. The part may
// say when the entry must not be applied.
func understood(entries []v1alpha1.CatalogEntry) error {
	for _, e := range entries {
		if e.Unknown != "" {
			return fmt.Errorf("this version of Fettle does not know a part of %s: %s; %s", e.Ref(), e.Unknown, upgrade)
		}
	}
	return nil
}

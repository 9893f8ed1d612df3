package catalog

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// definitionKind is the kind of the entry that has the definition of an external type. It is no resource of a node.
const definitionKind = "ExternalType"

// OfType returns the Catalog that keeps the definition of an external type: its name and its spec, as they are.
func OfType(name string, spec v1alpha1.ExternalTypeSpec) (*v1alpha1.Catalog, error) {
	attributes, err := Encode(spec)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the spec of ExternalType %s: %w", name, err)
	}
	entries := []v1alpha1.CatalogEntry{{Kind: definitionKind, Name: name, Attributes: attributes}}
	return &v1alpha1.Catalog{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Catalog"},
		ObjectMeta: metav1.ObjectMeta{Name: Name(entries)},
		Count:      1, Entries: entries,
	}, nil
}

// TypeOf returns the spec of an external type that the Catalog with a name keeps. The error is an *InvalidCatalogError.
func TypeOf(catalog string, c *v1alpha1.Catalog, name string) (*v1alpha1.ExternalTypeSpec, error) {
	if err := Verify(catalog, c); err != nil {
		return nil, err
	}
	if len(c.Entries) != 1 || c.Entries[0].Kind != definitionKind || c.Entries[0].Name != name || c.Entries[0].Attributes == nil {
		return nil, &InvalidCatalogError{catalog, fmt.Errorf("it does not have the definition of ExternalType %s", name)}
	}
	var spec v1alpha1.ExternalTypeSpec
	if err := json.Unmarshal(c.Entries[0].Attributes.Raw, &spec); err != nil {
		return nil, &InvalidCatalogError{catalog, fmt.Errorf("cannot decode ExternalType %s: %w", name, err)}
	}
	return &spec, nil
}

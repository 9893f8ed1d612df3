package catalog

import (
	"fmt"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// An Opener opens a value that was sealed for the node. Its error is shown to users and must not contain the value.
type Opener func(v1alpha1.ResourceRef, v1alpha1.SealedValue) ([]byte, error)

// unseal opens the sealed attributes of an entry.
func unseal(e v1alpha1.CatalogEntry, open Opener) ([]resource.Secret, error) {
	var secrets []resource.Secret
	for _, s := range e.Sealed {
		if open == nil {
			return nil, fmt.Errorf("%s of %s is sealed: only the node that it was sealed for can open it", s.Attribute, e.Ref())
		}
		value, err := open(e.Ref(), s)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, resource.Secret{Attribute: s.Attribute, Value: string(value)})
	}
	return secrets, nil
}

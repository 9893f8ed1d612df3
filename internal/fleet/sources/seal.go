package sources

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/seal"
)

// A Sealer seals values for one compilation. A value that a node already has sealed from the same
// version to the same key stays as it is, since sealing again would change the node's spec.
type Sealer struct {
	Reader *Reader
	// Existing returns entries of a node, as last compiled or as the cluster has them.
	Existing func(node string) []v1alpha1.CatalogEntry
}

// Seal seals one key of a Secret for an attribute of a node's resource. An error is one of the
// node's public key.
func (s Sealer) Seal(n *compiler.Node, ref v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
	want := v1alpha1.SealedValue{Attribute: attribute, From: from, Key: seal.Fingerprint(n.PublicKey)}
	if v, ok := s.existing(n, ref, func(v v1alpha1.SealedValue) bool { return v.Attribute == attribute && v.From == from }); ok {
		return v, nil
	}
	key, err := seal.ParsePublicKey(n.PublicKey)
	if err != nil {
		return want, err
	}
	secret := s.Reader.Secret(from.KeyRef)
	if !secret.Found {
		return want, fmt.Errorf("%w: key %q of Secret %s/%s", compiler.ErrMissingSecret, from.Key, from.Namespace, from.Name)
	}
	want.Value, err = seal.Seal(key, seal.Purpose{Node: n.Name, Ref: string(ref), Attribute: attribute}, secret.Value)
	return want, err
}

// existing returns a value of a resource that is sealed to the node's key.
func (s Sealer) existing(n *compiler.Node, ref v1alpha1.ResourceRef, is func(v1alpha1.SealedValue) bool) (v1alpha1.SealedValue, bool) {
	key := seal.Fingerprint(n.PublicKey)
	for _, e := range s.Existing(n.Name) {
		if e.Ref() != ref {
			continue
		}
		if i := slices.IndexFunc(e.Sealed, func(v v1alpha1.SealedValue) bool { return v.Key == key && is(v) }); i >= 0 {
			return e.Sealed[i], true
		}
	}
	return v1alpha1.SealedValue{}, false
}

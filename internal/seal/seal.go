// Package seal encrypts values so that only one node can read them, and only for one purpose.
//
// It uses HPKE (RFC 9180) in base mode with HKDF-SHA256 and AES-256-GCM. The KEM combines X25519 with ML-KEM-768, so that a
// quantum computer cannot open values that are recorded today. The purpose of a value is authenticated. The sender is not:
// anyone who has the public key can seal, and RBAC decides who can write what a node reads. The length of a value is not
// hidden.
package seal

import (
	"crypto/hpke"
	"encoding/binary"
	"errors"
	"fmt"
)

// info separates these values from others that are sealed to such a key. Its version changes with the format.
const info = "fettle.dev/seal/v1"

// overhead is the number of bytes that sealing adds to a value: the encapsulated keys of ML-KEM-768 and X25519, and the
// tag of AES-GCM.
const (
	encapsulated = 1088 + 32
	overhead     = encapsulated + 16
)

// A Purpose is the use of a value. A sealed value opens only for the same purpose.
type Purpose struct {
	Node      string // the node's name
	Ref       string // Kind/name of the resource
	Attribute string // of the resource
}

// String returns the purpose for messages.
func (p Purpose) String() string {
	return fmt.Sprintf("%s of %s on node %s", p.Attribute, p.Ref, p.Node)
}

// bytes returns an encoding that differs for any two purposes: each part follows its length.
func (p Purpose) bytes() []byte {
	var all []byte
	for _, part := range []string{p.Node, p.Ref, p.Attribute} {
		all = binary.BigEndian.AppendUint64(all, uint64(len(part)))
		all = append(all, part...)
	}
	return all
}

// Seal encrypts a value for the holder of the private key. It returns different bytes each time. It fails for keys that
// cannot be used: the zero PublicKey, and keys that give every sender the same secret.
func Seal(to PublicKey, purpose Purpose, value []byte) ([]byte, error) {
	if to.key == nil {
		return nil, fmt.Errorf("cannot seal %s: there is no public key", purpose)
	}
	enc, sender, err := hpke.NewSender(to.key, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(info))
	if err != nil {
		return nil, fmt.Errorf("cannot seal %s to key %s: %w", purpose, to.Fingerprint(), err)
	}
	closed, err := sender.Seal(purpose.bytes(), value)
	if err != nil {
		return nil, fmt.Errorf("cannot seal %s to key %s: %w", purpose, to.Fingerprint(), err)
	}
	return append(enc, closed...), nil
}

// errClosed covers causes that cannot be distinguished.
var errClosed = errors.New("it was sealed to another key or for another purpose, or it was changed")

// Open decrypts a value that was sealed to the key for this purpose. Errors do not contain the value.
func (k *PrivateKey) Open(purpose Purpose, sealed []byte) ([]byte, error) {
	if len(sealed) < overhead {
		return nil, fmt.Errorf("cannot open %s: it has %d bytes, and the shortest sealed value has %d", purpose, len(sealed), overhead)
	}
	recipient, err := hpke.NewRecipient(sealed[:encapsulated], k.key, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(info))
	if err != nil {
		return nil, fmt.Errorf("cannot open %s with key %s: %w", purpose, k.public.Fingerprint(), errClosed)
	}
	value, err := recipient.Open(purpose.bytes(), sealed[encapsulated:])
	if err != nil {
		return nil, fmt.Errorf("cannot open %s with key %s: %w", purpose, k.public.Fingerprint(), errClosed)
	}
	return value, nil
}

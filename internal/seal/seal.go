// Package seal closes values so that one node alone can read them, and for one purpose
// alone.
//
// It is HPKE (RFC 9180) in base mode: the KEM joins X25519 with ML-KEM-768, so that what
// is recorded today stays closed to a quantum computer, with HKDF-SHA256 and AES-256-GCM.
// What a value is for is authenticated with it. Who sealed it is not: anyone who has the
// public key can, and who may write what a node reads is for others to say. Its length
// shows.
package seal

import (
	"crypto/hpke"
	"encoding/binary"
	"errors"
	"fmt"
)

// info tells these values from all else that is ever sealed to such a key. Another form
// gets another number.
const info = "fettle.dev/seal/v1"

// overhead is how much longer than its value a sealed one is, in bytes: the encapsulated
// keys of ML-KEM-768 and X25519, and the tag of AES-GCM.
const (
	encapsulated = 1088 + 32
	overhead     = encapsulated + 16
)

// A Purpose is what a value is sealed for. It opens for the very same alone.
type Purpose struct {
	Node      string // the node's name
	Ref       string // Kind/name of the resource
	Attribute string // of the resource
}

// String names all of it.
func (p Purpose) String() string {
	return fmt.Sprintf("%s of %s on node %s", p.Attribute, p.Ref, p.Node)
}

// bytes tell any two purposes apart, whatever is in their names: each part follows its
// length.
func (p Purpose) bytes() []byte {
	var all []byte
	for _, part := range []string{p.Node, p.Ref, p.Attribute} {
		all = binary.BigEndian.AppendUint64(all, uint64(len(part)))
		all = append(all, part...)
	}
	return all
}

// Seal closes a value for who has the private key. Two sealed forms of one value differ.
// It fails for a key that can't be used, such as the zero PublicKey, or one that was made
// to give every sender the same secret.
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

// errClosed doesn't say which of these it is, as nobody can tell.
var errClosed = errors.New("it was sealed to another key or for another purpose, or it was changed")

// Open is the value that was sealed to the key for this purpose. An error says nothing of
// the value.
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

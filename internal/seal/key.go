package seal

import (
	"bytes"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/text"
)

// algorithm is what the text of a public key begins with.
const algorithm = "mlkem768-x25519:"

// maxQuoted is how many bytes of a key an error quotes.
const maxQuoted = 40

// A PublicKey is what values are sealed to. The zero PublicKey is none.
type PublicKey struct{ key hpke.PublicKey }

// ParsePublicKey reads what String writes, and no other spelling of it.
func ParsePublicKey(s string) (PublicKey, error) {
	encoded, ok := strings.CutPrefix(s, algorithm)
	if !ok {
		return PublicKey{}, fmt.Errorf("public key %q is of an unknown algorithm: it has to begin with %s", text.Clip(s, maxQuoted), algorithm)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") { // which the decoder skips
		return PublicKey{}, fmt.Errorf("public key %q is no base64", text.Clip(s, maxQuoted))
	}
	key, err := hpke.MLKEM768X25519().NewPublicKey(raw)
	if err != nil {
		return PublicKey{}, fmt.Errorf("public key %q is no key: %w", text.Clip(s, maxQuoted), err)
	}
	return PublicKey{key}, nil
}

// IsZero reports whether there is no key.
func (k PublicKey) IsZero() bool { return k.key == nil }

// String is the key as text, "" for none.
func (k PublicKey) String() string {
	if k.IsZero() {
		return ""
	}
	return algorithm + base64.StdEncoding.EncodeToString(k.key.Bytes())
}

// Fingerprint is a short name of the key, "" for none: sha256- and the hash of its text.
func (k PublicKey) Fingerprint() string {
	if k.IsZero() {
		return ""
	}
	return Fingerprint(k.String())
}

// Fingerprint is that of the key whose text this is, which need not be a key.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:])
}

// A PrivateKey opens what was sealed to its public key. It prints as a mark. Safe for
// concurrent use.
type PrivateKey struct {
	seed   []byte
	key    hpke.PrivateKey
	public PublicKey
}

// GenerateKey makes a new key.
func GenerateKey() (*PrivateKey, error) {
	key, err := hpke.MLKEM768X25519().GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	seed, err := key.Bytes()
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	return &PrivateKey{bytes.Clone(seed), key, PublicKey{key.PublicKey()}}, nil
}

// ParsePrivateKey reads what Bytes gives.
func ParsePrivateKey(seed []byte) (*PrivateKey, error) {
	key, err := hpke.MLKEM768X25519().NewPrivateKey(seed)
	if err != nil {
		return nil, fmt.Errorf("cannot read a private key of %d bytes: %w", len(seed), err)
	}
	return &PrivateKey{bytes.Clone(seed), key, PublicKey{key.PublicKey()}}, nil
}

// Bytes is the secret that the key is made from: 32 bytes, to be kept where nobody else
// can read them.
func (k *PrivateKey) Bytes() []byte { return bytes.Clone(k.seed) }

// PublicKey is the half that may be known.
func (k *PrivateKey) PublicKey() PublicKey { return k.public }

// Format writes a mark in place of the key, whatever the verb.
func (k *PrivateKey) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte("[private key of " + k.public.Fingerprint() + "]")) // as all that is formatted
}

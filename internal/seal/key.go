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

// algorithm is the prefix of the text of a public key.
const algorithm = "mlkem768-x25519:"

// maxQuoted is the number of bytes of a key that an error quotes.
const maxQuoted = 40

// A PublicKey is a key to which values are sealed. The zero PublicKey is not a key.
type PublicKey struct{ key hpke.PublicKey }

// ParsePublicKey parses the output of String. It accepts no other encoding of a key.
func ParsePublicKey(s string) (PublicKey, error) {
	encoded, ok := strings.CutPrefix(s, algorithm)
	if !ok {
		return PublicKey{}, fmt.Errorf("public key %q has an unknown algorithm: it must begin with %s", text.Clip(s, maxQuoted), algorithm)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") { // the decoder skips these
		return PublicKey{}, fmt.Errorf("public key %q is not base64", text.Clip(s, maxQuoted))
	}
	key, err := hpke.MLKEM768X25519().NewPublicKey(raw)
	if err != nil {
		return PublicKey{}, fmt.Errorf("public key %q is invalid: %w", text.Clip(s, maxQuoted), err)
	}
	return PublicKey{key}, nil
}

// IsZero reports whether k is the zero PublicKey.
func (k PublicKey) IsZero() bool { return k.key == nil }

// String returns the key as text; "" for the zero PublicKey.
func (k PublicKey) String() string {
	if k.IsZero() {
		return ""
	}
	return algorithm + base64.StdEncoding.EncodeToString(k.key.Bytes())
}

// Fingerprint returns sha256- and the hash of the key's text; "" for the zero PublicKey.
func (k PublicKey) Fingerprint() string {
	if k.IsZero() {
		return ""
	}
	return Fingerprint(k.String())
}

// Fingerprint returns the fingerprint of a key given as text. The text need not be valid.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:])
}

// A PrivateKey opens values that were sealed to its public key. It formats as a mark. It is safe for concurrent use.
type PrivateKey struct {
	seed   []byte
	key    hpke.PrivateKey
	public PublicKey
}

// GenerateKey generates a key.
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

// ParsePrivateKey parses the output of Bytes.
func ParsePrivateKey(seed []byte) (*PrivateKey, error) {
	key, err := hpke.MLKEM768X25519().NewPrivateKey(seed)
	if err != nil {
		return nil, fmt.Errorf("cannot read a private key of %d bytes: %w", len(seed), err)
	}
	return &PrivateKey{bytes.Clone(seed), key, PublicKey{key.PublicKey()}}, nil
}

// Bytes returns the secret seed of the key: 32 bytes, to be stored where nobody else can read them.
func (k *PrivateKey) Bytes() []byte { return bytes.Clone(k.seed) }

// PublicKey returns the public half of the key.
func (k *PrivateKey) PublicKey() PublicKey { return k.public }

// Format writes a mark instead of the key, whatever the verb.
func (k *PrivateKey) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte("[private key of " + k.public.Fingerprint() + "]")) // like everything that is formatted
}

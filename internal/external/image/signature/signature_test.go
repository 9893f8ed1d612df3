package signature_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/image/signature"
)

var (
	digest = "sha256:" + strings.Repeat("a", 64)
	other  = "sha256:" + strings.Repeat("b", 64)
)

func payload(kind, digest string) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":"elsewhere.example.com/x"},"image":{"docker-manifest-digest":%q},"type":%q},"optional":null}`, digest, kind)
}

const claim = "cosign container image signature"

func sign(t *testing.T, key crypto.Signer, text []byte) signature.Signature {
	t.Helper()
	message, options := text, crypto.SignerOpts(crypto.Hash(0))
	if _, ok := key.(*ecdsa.PrivateKey); ok {
		sum := sha256.Sum256(text)
		message, options = sum[:], crypto.SHA256
	}
	signed, err := key.Sign(rand.Reader, message, options)
	if err != nil {
		t.Fatal(err)
	}
	return signature.Signature{Payload: text, Bytes: signed}
}

func writeKey(t *testing.T, file string, key any) {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err == nil {
		err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func ecKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestOneValidSignatureIsEnough(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	ec, foreign := ecKey(t, elliptic.P256()), ecKey(t, elliptic.P256())
	public, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	writeKey(t, filepath.Join(dir, "one.pub"), ec.Public())
	writeKey(t, filepath.Join(dir, "two.pub"), public)
	if err := os.WriteFile(filepath.Join(dir, ".hidden"), []byte("not a key"), 0o644); err != nil {
		t.Fatal(err)
	}
	keys, err := signature.ReadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	good := payload(claim, digest)
	damaged := sign(t, ec, good)
	damaged.Payload = payload(claim, digest+" ")
	for name, c := range map[string]struct {
		all  []signature.Signature
		want string
	}{
		"ECDSA":                         {[]signature.Signature{sign(t, ec, good)}, ""},
		"Ed25519":                       {[]signature.Signature{sign(t, ed, good)}, ""},
		"after one by another key":      {[]signature.Signature{sign(t, foreign, good), sign(t, ec, good)}, ""},
		"after one of another image":    {[]signature.Signature{sign(t, ec, payload(claim, other)), sign(t, ec, good)}, ""},
		"none":                          {nil, "it has no signature: sign it with cosign sign --key, by a key of " + dir},
		"by another key":                {[]signature.Signature{sign(t, foreign, good)}, "none of its 1 signatures is by a key of " + dir},
		"of another image":              {[]signature.Signature{sign(t, ec, payload(claim, other))}, "is of another image, \"" + other + `"`},
		"of something else":             {[]signature.Signature{sign(t, ec, payload("a receipt", digest))}, "none of its 1 signatures"},
		"of a payload that was changed": {[]signature.Signature{damaged}, "none of its 1 signatures"},
		"of no JSON":                    {[]signature.Signature{sign(t, ec, []byte("x"))}, "none of its 1 signatures"},
		"empty":                         {[]signature.Signature{{}}, "none of its 1 signatures"},
	} {
		if err := keys.Verify(digest, c.all); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeysThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(file string){
		"rsa.pub":  func(file string) { writeKey(t, file, rsaKey.Public()) },
		"p384.pub": func(file string) { writeKey(t, file, ecKey(t, elliptic.P384()).Public()) },
		"private.pem": func(file string) {
			_ = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), 0o600)
		},
		"text": func(file string) { _ = os.WriteFile(file, []byte("hello"), 0o644) },
	} {
		file := filepath.Join(dir, name)
		write(file)
		if _, err := signature.ReadKeys(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{t.TempDir(), filepath.Join(dir, "missing")} {
		if _, err := signature.ReadKeys(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (signature.Keys{}).Verify(digest, []signature.Signature{sign(t, ecKey(t, elliptic.P256()), payload(claim, digest))}); err == nil {
		t.Error("no keys verified a signature")
	}
}

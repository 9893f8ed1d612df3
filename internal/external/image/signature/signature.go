// Package signature verifies signatures of images in the simple signing format of cosign.
package signature

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Signature is a statement about an image, and a signature of its bytes.
type Signature struct {
	Payload []byte `json:"payload"`
	Bytes   []byte `json:"signature"`
}

// Keys are public keys that are trusted. The zero value verifies nothing.
type Keys struct {
	where string
	all   []crypto.PublicKey
}

// ReadKeys reads the public keys of a file, or of all files in a directory, in PEM: ECDSA with the curve P-256, as
// cosign generate-key-pair makes them, or Ed25519. It is an error if there is no key. Hidden files are ignored, as in a mounted
// ConfigMap.
func ReadKeys(name string) (Keys, error) {
	keys := Keys{where: name}
	files, err := filesOf(name)
	if err != nil {
		return Keys{}, fmt.Errorf("cannot read the keys for signatures: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return Keys{}, fmt.Errorf("cannot read the keys for signatures: %w", err)
		}
		all, err := parse(text)
		if err != nil {
			return Keys{}, fmt.Errorf("cannot use the keys in %s: %w", file, err)
		}
		keys.all = append(keys.all, all...)
	}
	if len(keys.all) == 0 {
		return Keys{}, fmt.Errorf("there is no key for signatures in %s: add a public key in PEM, such as cosign.pub", name)
	}
	return keys, nil
}

func filesOf(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	var files []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		file := filepath.Join(name, e.Name())
		info, err := os.Stat(file) // mounted files are symlinks
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	return files, err
}

// parse returns the public keys of a text. Private keys are not accepted: they do not belong on nodes.
func parse(text []byte) ([]crypto.PublicKey, error) {
	var all []crypto.PublicKey
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if block.Type != "PUBLIC KEY" {
			return nil, fmt.Errorf("it has a %.40q: use only public keys (BEGIN PUBLIC KEY)", block.Type)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		if err := supported(key); err != nil {
			return nil, err
		}
		all = append(all, key)
	}
	if len(all) == 0 {
		return nil, errors.New("it has no public key in PEM")
	}
	return all, nil
}

func supported(key crypto.PublicKey) error {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return nil
		}
	}
	return errors.New("only ECDSA keys with the curve P-256 and Ed25519 keys are supported")
}

// Verify returns an error unless one of the signatures is of an image's digest, sha256:..., and by one of the keys.
func (k Keys) Verify(digest string, all []Signature) error {
	signed := ""
	for _, s := range all {
		if !k.signed(s) {
			continue
		}
		is, err := digestOf(s.Payload)
		if err == nil && is == digest {
			return nil
		}
		signed = is
	}
	switch {
	case len(all) == 0:
		return fmt.Errorf("it has no signature: sign it with cosign sign --key, by a key of %s", k.where)
	case signed != "":
		return fmt.Errorf("its signature by a key of %s is of another image, %.80q", k.where, signed)
	}
	return fmt.Errorf("none of its %d signatures is by a key of %s", len(all), k.where)
}

func (k Keys) signed(s Signature) bool {
	sum := sha256.Sum256(s.Payload)
	for _, key := range k.all {
		switch key := key.(type) {
		case *ecdsa.PublicKey:
			if ecdsa.VerifyASN1(key, sum[:], s.Bytes) {
				return true
			}
		case ed25519.PublicKey:
			if ed25519.Verify(key, s.Payload, s.Bytes) {
				return true
			}
		}
	}
	return false
}

// claim is the type of a statement about an image.
const claim = "cosign container image signature"

// digestOf returns the digest that a payload is about. Its docker-reference is not compared: a mirror has the same image
// by another name, and cosign verify does not compare it either.
func digestOf(payload []byte) (string, error) {
	var p struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return "", err
	}
	if p.Critical.Type != claim {
		return "", fmt.Errorf("it is a %.40q", p.Critical.Type)
	}
	return p.Critical.Image.Digest, nil
}

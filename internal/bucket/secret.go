package bucket

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// ErrSecret is why a content is not kept.
var ErrSecret = errors.New("its content is a secret, and those are never kept")

// What is noted of secrets: a key of the bucket's own, and digests with it of the contents,
// a line each, the latest last.
const (
	secretsName = "secrets"
	keyName     = "key"
	digestsName = "digests"
)

// maxSecrets is how many are noted: of those that are replaced each day the last years.
const maxSecrets = 1000

// Shun has a content never be kept, whatever replaces it: it is a secret. That is on disk
// when Shun returns.
func (b *Bucket) Shun(ctx context.Context, content string) error {
	if content == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key, digests, err := b.secrets()
	if err == nil && key == nil {
		key, err = b.makeKey(ctx)
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(content))
	digest := digestOf(key, hex.EncodeToString(sum[:]))
	if slices.Contains(digests, digest) {
		return nil
	}
	digests = append(digests, digest)
	text := strings.Join(digests[max(0, len(digests)-maxSecrets):], "\n") + "\n"
	return b.write(ctx, path.Join(b.dir, secretsName, digestsName), strings.NewReader(text))
}

// IsSecret reports whether what a regular file of a host holds now is never to be kept.
func (b *Bucket) IsSecret(ctx context.Context, from host.Reader, file string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	node, err := from.Look(file)
	if err != nil {
		return false, err
	}
	defer node.Close()
	sum, _, err := sumOf(ctx, node.Open)
	if err != nil {
		return false, err
	}
	return b.shuns(sum)
}

func (b *Bucket) shuns(sum string) (bool, error) {
	key, digests, err := b.secrets()
	return key != nil && slices.Contains(digests, digestOf(key, sum)), err
}

// secrets is what is noted; a nil key where nothing ever was.
func (b *Bucket) secrets() (key []byte, digests []string, err error) {
	key, err = b.host.ReadFile(path.Join(b.dir, secretsName, keyName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := b.host.ReadFile(path.Join(b.dir, secretsName, digestsName))
	if errors.Is(err, fs.ErrNotExist) {
		return key, nil, nil
	}
	return key, strings.Fields(string(text)), err
}

func (b *Bucket) makeKey(ctx context.Context) ([]byte, error) {
	dir := path.Join(b.dir, secretsName)
	if err := b.makeAll(dir); err != nil {
		return nil, err
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return key, b.write(ctx, path.Join(dir, keyName), strings.NewReader(string(key)))
}

func digestOf(key []byte, sum string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(sum))
	return hex.EncodeToString(mac.Sum(nil))
}

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
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// ErrSecret is the reason why a content is not stored.
var ErrSecret = errors.New("its content is a secret, which is never stored")

// The record of secrets: a key of the bucket's own and, one per line and the latest last, keyed
// digests of contents and the quoted paths of their files.
const (
	secretsName = "secrets"
	keyName     = "key"
	recordName  = "digests"
)

// maxFormer is the maximum number of former contents, and of former paths, that are recorded
// besides those of the current secrets.
const maxFormer = 1000

// secrets is the record of secrets. Paths are recorded too, because a secret that someone appended
// to has another digest.
type secrets struct {
	key            []byte // nil if nothing was ever recorded
	digests, paths []string
}

// version identifies one version of a file that is always replaced, never modified.
type version struct {
	dev, ino uint64
	changed  int64
}

// RecordSecrets records the contents of files, by path, as secrets. They are still recognized when
// no resource marks them as secret any more, so they are never stored and never shown as a file's
// former content. RecordSecrets removes earlier copies. When it returns, the record is on disk.
func (b *Bucket) RecordSecrets(ctx context.Context, contents map[string]string) error {
	if len(contents) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	known, err := b.secrets()
	if err == nil && known.key == nil {
		known.key, err = b.makeKey(ctx)
	}
	if err != nil {
		return err
	}
	current := secrets{key: known.key}
	for file, content := range contents {
		current.paths = append(current.paths, file)
		if content == "" {
			continue
		}
		sum := sha256.Sum256([]byte(content))
		digest := digestOf(known.key, hex.EncodeToString(sum[:]))
		current.digests = append(current.digests, digest)
		if !slices.Contains(known.digests, digest) {
			if err := b.host.RemoveAll(b.dirOf(hex.EncodeToString(sum[:]))); err != nil {
				return err
			}
		}
	}
	next := secrets{known.key, merge(known.digests, current.digests), merge(known.paths, current.paths)}
	return b.record(ctx, known, next)
}

// merge returns known if it has all current ones. Otherwise it puts the former ones first and drops
// the oldest of them.
func merge(known, current []string) []string {
	current = slices.Compact(slices.Sorted(slices.Values(current)))
	is := make(map[string]bool, len(current))
	for _, c := range current {
		is[c] = true
	}
	former := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return is[k] })
	if len(former)+len(current) == len(known) {
		return known
	}
	return append(former[max(0, len(former)-maxFormer):], current...)
}

// ForgetPath records that the file at a path no longer contains a secret.
func (b *Bucket) ForgetPath(ctx context.Context, file string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, err := b.secrets()
	if err != nil || !slices.Contains(known.paths, file) {
		return err
	}
	next := known
	next.paths = slices.DeleteFunc(slices.Clone(known.paths), func(p string) bool { return p == file })
	return b.record(ctx, known, next)
}

func (b *Bucket) record(ctx context.Context, known, next secrets) error {
	if slices.Equal(known.digests, next.digests) && slices.Equal(known.paths, next.paths) {
		return nil
	}
	var text strings.Builder
	for _, d := range next.digests {
		text.WriteString(d + "\n")
	}
	for _, p := range next.paths {
		text.WriteString(strconv.Quote(p) + "\n")
	}
	return b.write(ctx, path.Join(b.dir, secretsName, recordName), strings.NewReader(text.String()))
}

// IsSecret reports whether a file's content must not be shown or stored, given its SHA-256 in
// hexadecimal. That is the case if the content or the path is recorded as secret.
func (b *Bucket) IsSecret(file, sum string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, err := b.secrets()
	return known.has(file, sum), err
}

// HoldsSecret is IsSecret for the current content of an open regular file.
func (b *Bucket) HoldsSecret(ctx context.Context, file host.Handle, path string) (bool, error) {
	sum, _, err := sumOf(ctx, file)
	if err != nil {
		return false, err
	}
	return b.IsSecret(path, sum)
}

func (s secrets) has(file, sum string) bool {
	return s.key != nil && (slices.Contains(s.paths, file) || slices.Contains(s.digests, digestOf(s.key, sum)))
}

// secrets returns the current record, which any process may have written. It is only read again
// after it was replaced, since every file that differs from its resource is looked up.
func (b *Bucket) secrets() (secrets, error) {
	info, err := b.host.Lstat(path.Join(b.dir, secretsName, recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return readSecrets(b.host, b.dir) // there may be a key
	}
	if err != nil {
		return secrets{}, err
	}
	is := version{info.Dev, info.Ino, info.ChangeTime.UnixNano()}
	if b.read == is {
		return b.known, nil
	}
	known, err := readSecrets(b.host, b.dir)
	if err == nil {
		b.known, b.read = known, is
	}
	return known, err
}

// readSecrets reads the record of the bucket in a directory.
func readSecrets(h host.Reader, dir string) (s secrets, err error) {
	s.key, err = h.ReadFile(path.Join(dir, secretsName, keyName))
	if errors.Is(err, fs.ErrNotExist) {
		return secrets{}, nil
	}
	if err != nil {
		return secrets{}, err
	}
	text, err := h.ReadFile(path.Join(dir, secretsName, recordName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return secrets{}, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if p, err := strconv.Unquote(line); err == nil {
			s.paths = append(s.paths, p)
		} else {
			s.digests = append(s.digests, line)
		}
	}
	return s, nil
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

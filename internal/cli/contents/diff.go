package contents

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/host"
)

// A revision is a file's content and its name in a diff.
type revision struct {
	name string
	text []byte
}

// Diff prints how a content differs from another one, from the file at an absolute path, or, if with is "", from the
// file where it was last found. It never prints a secret.
func Diff(ctx context.Context, h host.Reader, b *bucket.Bucket, p *output.Printer, what, with string) error {
	e, at, err := find(b, what)
	if err != nil {
		return err
	}
	if with = cmp.Or(with, at); with == "" {
		return fmt.Errorf("the path of %s is unknown: give a path, or another sum", e.Sum)
	}
	from, err := saved(b, e)
	if err != nil {
		return err
	}
	to, err := revisionOf(ctx, h, b, with)
	if err == nil {
		printDiff(p, from, to)
	}
	return err
}

func printDiff(p *output.Printer, from, to revision) {
	switch {
	case bytes.Equal(from.text, to.text):
	case !isText(from.text) || !isText(to.text):
		p.Print("%s and %s differ, and are not both text", from.name, to.name)
	default:
		p.Diff(string(diff.Diff(from.name, from.text, to.name, to.text)))
	}
}

// revisionOf returns the revision of an absolute path or of the prefix of a sum.
func revisionOf(ctx context.Context, h host.Reader, b *bucket.Bucket, name string) (revision, error) {
	if !path.IsAbs(name) {
		e, err := b.Find(name)
		if err != nil {
			return revision{}, err
		}
		return saved(b, e)
	}
	file, err := h.Lookup(name, host.Links{Follow: host.FollowAll, AtEnd: true})
	if err != nil {
		return revision{}, fmt.Errorf("cannot read %s: %w", name, err)
	}
	defer file.Close()
	if file.Info().Size > maxDiff {
		return revision{}, errTooLarge(name)
	}
	secret, err := b.HoldsSecret(ctx, file, name)
	if err != nil {
		return revision{}, fmt.Errorf("cannot read %s: %w", name, err)
	}
	if secret {
		return revision{}, fmt.Errorf("%s contains a secret: secrets are never shown", name)
	}
	f, err := file.Open()
	if err != nil {
		return revision{}, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return readRevision(name, f)
}

// saved returns a revision in the bucket, unless it has since become known as a secret.
func saved(b *bucket.Bucket, e bucket.Entry) (revision, error) {
	for _, p := range append([]string{""}, e.Paths...) {
		secret, err := b.IsSecret(p, e.Sum)
		if err != nil {
			return revision{}, fmt.Errorf("cannot read the bucket: %w", err)
		}
		if secret {
			return revision{}, fmt.Errorf("%s was found at the path of a secret: secrets are never shown", e.Sum)
		}
	}
	f, err := b.Open(e.Sum)
	if err != nil {
		return revision{}, fmt.Errorf("cannot read from the bucket: %w", err)
	}
	return readRevision(e.Sum, f)
}

// maxDiff is the largest file that is compared, in bytes.
const maxDiff = 4 << 20

func readRevision(name string, f io.ReadCloser) (revision, error) {
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDiff+1))
	if err == nil && len(text) > maxDiff {
		return revision{}, errTooLarge(name)
	}
	if err != nil {
		return revision{}, fmt.Errorf("cannot compare %s: %w", name, err)
	}
	return revision{name, text}, nil
}

func errTooLarge(name string) error {
	return fmt.Errorf("cannot compare %s: it is larger than %d MiB: use fettle bucket get and diff", name, maxDiff>>20)
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
)

func (a *app) bucketDiff() *cobra.Command {
	var f bucketFlags
	cmd := &cobra.Command{
		Use:   "diff SUM [SUM|PATH]",
		Short: "Show how a content differs from another one, or from a file as it is now",
		Long: "diff shows how a content differs from another one, from the file at an absolute path, or else from\n" +
			"the file where it was last found. It exits with 0 whether or not they differ, and shows no secret.",
		Example: "  fettle bucket diff 2c8b08da\n" +
			"  fettle bucket diff 2c8b08da 27dd8ed4",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completeSum,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onBucket(&f, func(h Host, b *bucket.Bucket) error { return a.diffBucket(cmd.Context(), h, b, args) })
		},
	}
	a.addStateDir(cmd, &f.stateDir)
	return cmd
}

// A revision is a file's content, and what a diff calls it.
type revision struct {
	name string
	text []byte
}

func (a *app) diffBucket(ctx context.Context, h Host, b *bucket.Bucket, args []string) error {
	e, err := b.Find(args[0])
	if err != nil {
		return err
	}
	with := ""
	switch {
	case len(args) == 2:
		with = args[1]
	case len(e.Paths) > 0:
		with = e.Paths[len(e.Paths)-1]
	default:
		return fmt.Errorf("nobody knows where %s was found: name a path, or another sum", e.Sum)
	}
	from, err := kept(b, e)
	if err != nil {
		return err
	}
	to, err := other(ctx, h, b, with)
	if err == nil {
		a.sayDifference(from, to)
	}
	return err
}

func (a *app) sayDifference(from, to revision) {
	switch {
	case bytes.Equal(from.text, to.text):
	case !isText(from.text) || !isText(to.text):
		a.say("%s and %s differ, and are not both text", from.name, to.name)
	default:
		a.sayDiff(string(diff.Diff(from.name, from.text, to.name, to.text)))
	}
}

// other is the revision that a path or the beginning of a sum names.
func other(ctx context.Context, h host.Reader, b *bucket.Bucket, name string) (revision, error) {
	if !path.IsAbs(name) {
		e, err := b.Find(name)
		if err != nil {
			return revision{}, err
		}
		return kept(b, e)
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
		return revision{}, fmt.Errorf("%s holds a secret, and those are never shown", name)
	}
	f, err := file.Open()
	if err != nil {
		return revision{}, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return readRevision(name, f)
}

// kept is a revision in the bucket, unless it has since become known as a secret.
func kept(b *bucket.Bucket, e bucket.Entry) (revision, error) {
	for _, p := range append([]string{""}, e.Paths...) {
		secret, err := b.IsSecret(p, e.Sum)
		if err != nil {
			return revision{}, fmt.Errorf("cannot read the bucket: %w", err)
		}
		if secret {
			return revision{}, fmt.Errorf("%s was found where a secret is, and those are never shown", e.Sum)
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

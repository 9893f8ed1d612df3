package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// bucketFlags say where the bucket is and how much it takes.
type bucketFlags struct {
	stateDir string
	limit    int64
}

func (a *app) addBucket(cmd *cobra.Command, f *bucketFlags) {
	a.addStateDir(cmd, &f.stateDir)
	addBucketLimit(cmd, &f.limit)
}

func addBucketLimit(cmd *cobra.Command, limit *int64) {
	*limit = bucket.DefaultLimit
	cmd.Flags().Func("bucket-limit", "how much may be kept of the files that were replaced, as 500Mi: the oldest go before there would be more; 0 keeps all (default 1Gi)",
		func(text string) (err error) {
			*limit, err = bucket.ParseLimit(text)
			return err
		})
}

// withBucket opens the bucket of a host for the time of f. A directory of state that was
// asked for is one of this machine, whatever the root.
func (a *app) withBucket(h Host, f bucketFlags, do func(*bucket.Bucket) error) error {
	if f.stateDir == "" {
		return do(bucket.New(h, bucket.DefaultDir, f.limit))
	}
	dir, err := filepath.Abs(f.stateDir)
	if err != nil {
		return err
	}
	here := h
	if a.root != "/" {
		if here, err = a.OpenHost("/"); err != nil {
			return fmt.Errorf("cannot open this machine for its --state-dir: %w", err)
		}
		defer func() { _ = here.Close() }() // nothing is buffered
	}
	return do(bucket.New(here, path.Join(dir, "bucket"), f.limit))
}

// onBucket opens the host and its bucket.
func (a *app) onBucket(f *bucketFlags, do func(Host, *bucket.Bucket) error) error {
	return a.withHost(func(h Host) error {
		return a.withBucket(h, *f, func(b *bucket.Bucket) error { return do(h, b) })
	})
}

func (a *app) bucket() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bucket",
		Short:   "Show or bring back what Files replaced on this host",
		Example: "  fettle bucket list",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(a.bucketList(), a.bucketGet(), a.bucketDiff(), a.bucketRestore())
	return cmd
}

func (a *app) bucketList() *cobra.Command {
	var f bucketFlags
	output := "text"
	cmd := &cobra.Command{
		Use:     "list [PATH]",
		Short:   "List what is kept, the oldest first: sum, time, size and path",
		Example: "  fettle bucket list /etc/motd",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := oneOf("--output", output, "text", "json", "yaml"); err != nil {
				return err
			}
			return a.onBucket(&f, func(_ Host, b *bucket.Bucket) error { return a.listBucket(b, args, output) })
		},
	}
	a.addStateDir(cmd, &f.stateDir)
	cmd.Flags().StringVarP(&output, "output", "o", output, "text, json or yaml")
	complete(cmd, "output", "text", "json", "yaml")
	return cmd
}

// A listed content is one of the bucket as JSON. Paths are encoded by [text.Encode].
type listed struct {
	Sum   string    `json:"sum"` // SHA-256
	Saved time.Time `json:"saved"`
	Size  int64     `json:"size"`
	Paths []string  `json:"paths"` // the latest last
}

// listBucket has a line for each path of a content, of the one path if one is given.
func (a *app) listBucket(b *bucket.Bucket, only []string, output string) error {
	all, err := b.List()
	if err != nil {
		return fmt.Errorf("cannot read the bucket: %w", err)
	}
	if output != "text" {
		return a.encode(listing(all, only), output)
	}
	var rows [][]string
	for _, e := range all {
		for _, p := range e.Paths {
			if len(only) == 0 || slices.Contains(only, p) {
				rows = append(rows, []string{e.Sum, e.Saved.UTC().Format(time.RFC3339), strconv.FormatInt(e.Size, 10), p})
			}
		}
	}
	a.table(rows)
	return nil
}

// listing is a list of contents, of those found at the one path if one is given.
func listing(all []bucket.Entry, only []string) []listed {
	out := []listed{}
	for _, e := range all {
		if len(only) > 0 && !slices.Contains(e.Paths, only[0]) {
			continue
		}
		l := listed{e.Sum, e.Saved.UTC().Truncate(time.Second), e.Size, []string{}}
		for _, p := range e.Paths {
			l.Paths = append(l.Paths, text.Encode(p))
		}
		out = append(out, l)
	}
	return out
}

func (a *app) bucketGet() *cobra.Command {
	var f bucketFlags
	cmd := &cobra.Command{
		Use:               "get SUM",
		Short:             "Write a content to standard output",
		Example:           "  fettle bucket get 2c8b08da | diff - /etc/motd",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSum,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.onBucket(&f, func(_ Host, b *bucket.Bucket) error { return a.getFromBucket(b, args[0]) })
		},
	}
	a.addStateDir(cmd, &f.stateDir)
	return cmd
}

func (a *app) getFromBucket(b *bucket.Bucket, sum string) error {
	e, err := b.Find(sum)
	if err != nil {
		return err
	}
	if err := b.Verify(e.Sum); err != nil { // first: what is printed is used
		return fmt.Errorf("cannot read from the bucket: %w", err)
	}
	f, err := b.Open(e.Sum)
	if err != nil {
		return fmt.Errorf("cannot read from the bucket: %w", err)
	}
	defer f.Close()
	_, err = io.Copy(a.Out, f)
	return err
}

func (a *app) bucketRestore() *cobra.Command {
	var (
		f  bucketFlags
		to string
	)
	cmd := &cobra.Command{
		Use:   "restore SUM",
		Short: "Put a content back where it was last found",
		Long: "restore puts a content back where it was last found, or at --to. A file that is there keeps its\n" +
			"owner and mode and goes into the bucket itself; a new one is root's with mode 0600.",
		Example: "  fettle bucket restore 2c8b08da\n" +
			"  fettle bucket restore 2c8b08da --to /root/motd",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSum,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onBucket(&f, func(h Host, b *bucket.Bucket) error { return a.restore(cmd.Context(), h, b, args[0], to) })
		},
	}
	a.addBucket(cmd, &f)
	cmd.Flags().StringVar(&to, "to", "", "absolute path on the host to write to instead")
	return cmd
}

func (a *app) restore(ctx context.Context, h Host, b *bucket.Bucket, sum, to string) error {
	e, err := b.Find(sum)
	if err != nil {
		return err
	}
	if to == "" && len(e.Paths) > 0 {
		to = e.Paths[len(e.Paths)-1]
	}
	if to == "" {
		return fmt.Errorf("nobody knows where %s was found: give --to PATH", e.Sum)
	}
	content, err := b.Open(e.Sum)
	if err != nil {
		return fmt.Errorf("cannot read from the bucket: %w", err)
	}
	defer content.Close()
	if err := putBack(ctx, h, b, to, content); err != nil {
		return fmt.Errorf("cannot restore %s: %w", to, err)
	}
	a.say("%s is again as it was with the sum %s", to, e.Sum)
	return nil
}

func putBack(ctx context.Context, h host.Host, b *bucket.Bucket, to string, content io.Reader) error {
	dir, name, err := h.EditParent(to, host.Links{})
	if err != nil {
		return err
	}
	defer dir.Close()
	f := host.NewFile{Content: content, UID: -1, GID: -1, Was: &host.FileInfo{}}
	file, err := dir.Child(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		defer file.Close()
		f.Was = new(file.Info())
	}
	if file != nil && f.Was.IsRegular() {
		f.Check = func(ctx context.Context, _ string) error { return b.Backup(ctx, file, to) }
	} else {
		f.Mode = new(uint32(0o600))
	}
	_, err = dir.WriteFile(ctx, name, f)
	return err
}

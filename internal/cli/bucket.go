package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/cli/contents"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/text"
)

func newBucket(s shared) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bucket",
		Short:   "Show or restore the files that were replaced on this host",
		Example: "  fettle bucket list",
		Args:    cobra.NoArgs,
	}
	of := hostBucket{shared: s}
	cmd.AddCommand(newBucketList(of), newBucketGet(of), newBucketDiff(of), newBucketRestore(of))
	return cmd
}

// A hostBucket is the bucket of the host that the flags of a command select.
type hostBucket struct {
	shared
	host  place.Flags
	limit int64 // for a command that writes to it
}

// open opens the host and its bucket for the duration of do.
func (c *hostBucket) open(do func(place.Host, *bucket.Bucket) error) error {
	return c.withHost(c.host, func(at place.Place, h place.Host) error {
		return c.withBucket(at, h, c.limit, func(b *bucket.Bucket) error { return do(h, b) })
	})
}

// completeSum completes the sums and paths in the bucket.
func (c *hostBucket) completeSum(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var sums []cobra.Completion
	err := c.open(func(_ place.Host, b *bucket.Bucket) error {
		all, err := b.List()
		for _, e := range all {
			if strings.HasPrefix(word, "/") {
				sums = append(sums, slices.DeleteFunc(e.Paths, unprintable)...)
			} else {
				sums = append(sums, cobra.CompletionWithDesc(e.Sum, text.Line(strings.Join(e.Paths, " "))))
			}
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return sums, cobra.ShellCompDirectiveNoFileComp
}

// A bucketList is bucket list.
type bucketList struct {
	hostBucket
	output flags.Output
}

func newBucketList(of hostBucket) *cobra.Command {
	c := bucketList{hostBucket: of}
	cmd := &cobra.Command{
		Use:     "list [PATH]",
		Short:   "List saved contents, the oldest first: sum, time, size and path",
		Example: "  fettle bucket list /etc/motd",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.run(append(args, "")[0]) },
	}
	c.host.Add(cmd, c.Hosts)
	c.output.AddText(cmd)
	return cmd
}

func (c *bucketList) run(path string) error {
	return c.open(func(_ place.Host, b *bucket.Bucket) error { return contents.List(b, c.out, path, c.output) })
}

// A bucketGet is bucket get.
type bucketGet struct{ hostBucket }

func newBucketGet(of hostBucket) *cobra.Command {
	c := bucketGet{of}
	cmd := &cobra.Command{
		Use:               "get SUM|PATH",
		Short:             "Write a content, or the last one of a path, to standard output",
		Example:           "  fettle bucket get 2c8b08da | diff - /etc/motd",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeSum,
		RunE:              func(_ *cobra.Command, args []string) error { return c.run(args[0]) },
	}
	c.host.Add(cmd, c.Hosts)
	return cmd
}

func (c *bucketGet) run(what string) error {
	return c.open(func(_ place.Host, b *bucket.Bucket) error { return contents.Get(b, c.Out, what) })
}

// A bucketDiff is bucket diff.
type bucketDiff struct{ hostBucket }

func newBucketDiff(of hostBucket) *cobra.Command {
	c := bucketDiff{of}
	cmd := &cobra.Command{
		Use:   "diff SUM|PATH [SUM|PATH]",
		Short: "Compare a content with another one, or with a file on the host",
		Long: "diff shows how a content, or the last one of a path, differs from another one, from the file at an absolute\n" +
			"path, or by default from the file where it was last found. It exits with 0 whether or not they differ, and never\n" +
			"shows a secret.",
		Example: "  fettle bucket diff /etc/motd\n" +
			"  fettle bucket diff 2c8b08da\n" +
			"  fettle bucket diff 2c8b08da 27dd8ed4",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: c.completeSum,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), args[0], append(args, "")[1])
		},
	}
	c.host.Add(cmd, c.Hosts)
	return cmd
}

// run compares a content with another one; "" is the file where it was last found.
func (c *bucketDiff) run(ctx context.Context, what, with string) error {
	return c.open(func(h place.Host, b *bucket.Bucket) error { return contents.Diff(ctx, h, b, c.out, what, with) })
}

// A bucketRestore is bucket restore.
type bucketRestore struct {
	hostBucket
	to string
}

func newBucketRestore(of hostBucket) *cobra.Command {
	c := bucketRestore{hostBucket: of}
	cmd := &cobra.Command{
		Use:   "restore SUM|PATH",
		Short: "Write a content back to where it was last found, or the last content of a path",
		Long: "restore writes a content, or the last one of a path, back to where it was last found, or to --to. An existing\n" +
			"file keeps its owner and mode, and is saved in the bucket first; a new file belongs to root and has mode 0600.\n" +
			"fettle bucket diff shows what would change. A resource that manages the content replaces it again.",
		Example: "  fettle bucket restore /etc/motd\n" +
			"  fettle bucket restore 2c8b08da\n" +
			"  fettle bucket restore 2c8b08da --to /root/motd",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeSum,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.host.Add(cmd, c.Hosts)
	addBucketLimit(cmd, &c.limit)
	cmd.Flags().StringVar(&c.to, "to", "", "absolute path on the host to write to instead")
	return cmd
}

func (c *bucketRestore) run(ctx context.Context, what string) error {
	return c.open(func(h place.Host, b *bucket.Bucket) error {
		r, err := contents.Restore(ctx, h, b, what, c.to)
		if err == nil {
			c.print(r)
		}
		return err
	})
}

func (c *bucketRestore) print(r contents.Restored) {
	if r.Unchanged() {
		c.out.Print("%s already has the content with the sum %s", r.Path, r.Sum)
		return
	}
	c.out.Print("restored %s to the content with the sum %s, which was replaced at %s", r.Path, r.Sum, r.Saved.UTC().Format(time.RFC3339))
	switch {
	case r.Replaced != "":
		c.out.Print("to undo this, use fettle bucket restore %s", r.Replaced)
	case r.Lost:
		c.out.Print("the content before is a secret, and so it is not in the bucket")
	}
}

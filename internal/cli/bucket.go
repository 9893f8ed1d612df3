package cli

import (
	"fmt"
	"path"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/cli/contents"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/own"
)

// bucketFlags are the flags for the bucket.
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
	cmd.Flags().Func("bucket-limit", "maximum size of the bucket for replaced files, such as 500Mi; the oldest are deleted first; 0 means no limit (default 1Gi)",
		func(text string) (err error) {
			*limit, err = bucket.ParseLimit(text)
			return err
		})
}

// withBucket opens the bucket of a host for the duration of do. A --state-dir is a directory of this machine,
// whatever the root, or of the host with --host-pid.
func (a *app) withBucket(h Host, f bucketFlags, do func(*bucket.Bucket) error) error {
	if f.stateDir == "" {
		return do(bucket.New(h, bucket.DefaultDir, f.limit))
	}
	if a.place.pid > 0 {
		return do(bucket.New(h, path.Join("/", f.stateDir, "bucket"), f.limit))
	}
	dir, err := filepath.Abs(f.stateDir)
	if err != nil {
		return err
	}
	here := h
	if a.place.top != "/" {
		if here, err = a.OpenHost("/"); err != nil {
			return fmt.Errorf("cannot open this machine for its --state-dir: %w", err)
		}
		defer func() { _ = here.Close() }() // nothing is buffered
	}
	return do(bucket.New(here, path.Join(dir, "bucket"), f.limit))
}

// own returns Fettle's own files on the host, as far as its root has them.
func (a *app) own(h host.Reader, f bucketFlags) *own.Files {
	dir := path.Dir(a.place.programsDir(f.stateDir))
	return own.New(own.Place{Host: h, Paths: own.Dirs(dir), Bucket: path.Join(dir, "bucket")})
}

// withHostAndBucket opens the host and its bucket.
func (a *app) withHostAndBucket(f *bucketFlags, do func(Host, *bucket.Bucket) error) error {
	return a.withHost(func(h Host) error {
		return a.withBucket(h, *f, func(b *bucket.Bucket) error { return do(h, b) })
	})
}

func (a *app) bucket() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bucket",
		Short:   "Show or restore the files that were replaced on this host",
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
		Short:   "List saved contents, the oldest first: sum, time, size and path",
		Example: "  fettle bucket list /etc/motd",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := flags.OneOf("--output", output, "text", "json", "yaml"); err != nil {
				return err
			}
			return a.withHostAndBucket(&f, func(_ Host, b *bucket.Bucket) error {
				return contents.List(b, a.out, argument(args, 0), output)
			})
		},
	}
	a.addStateDir(cmd, &f.stateDir)
	cmd.Flags().StringVarP(&output, "output", "o", output, "text, json or yaml")
	flags.Complete(cmd, "output", "text", "json", "yaml")
	return cmd
}

// argument returns an optional argument, "" if it is missing.
func argument(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}

func (a *app) bucketGet() *cobra.Command {
	var f bucketFlags
	cmd := &cobra.Command{
		Use:               "get SUM|PATH",
		Short:             "Write a content, or the last one of a path, to standard output",
		Example:           "  fettle bucket get 2c8b08da | diff - /etc/motd",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSum,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withHostAndBucket(&f, func(_ Host, b *bucket.Bucket) error { return contents.Get(b, a.Out, args[0]) })
		},
	}
	a.addStateDir(cmd, &f.stateDir)
	return cmd
}

func (a *app) bucketDiff() *cobra.Command {
	var f bucketFlags
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
		ValidArgsFunction: a.completeSum,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHostAndBucket(&f, func(h Host, b *bucket.Bucket) error {
				return contents.Diff(cmd.Context(), h, b, a.out, args[0], argument(args, 1))
			})
		},
	}
	a.addStateDir(cmd, &f.stateDir)
	return cmd
}

func (a *app) bucketRestore() *cobra.Command {
	var (
		f  bucketFlags
		to string
	)
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
		ValidArgsFunction: a.completeSum,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHostAndBucket(&f, func(h Host, b *bucket.Bucket) error {
				r, err := contents.Restore(cmd.Context(), h, b, args[0], to)
				if err == nil {
					a.printRestored(r)
				}
				return err
			})
		},
	}
	a.addBucket(cmd, &f)
	cmd.Flags().StringVar(&to, "to", "", "absolute path on the host to write to instead")
	return cmd
}

func (a *app) printRestored(r contents.Restored) {
	if r.Unchanged() {
		a.out.Print("%s already has the content with the sum %s", r.Path, r.Sum)
		return
	}
	a.out.Print("restored %s to the content with the sum %s, which was replaced at %s", r.Path, r.Sum, r.Saved.UTC().Format(time.RFC3339))
	switch {
	case r.Replaced != "":
		a.out.Print("to undo this, use fettle bucket restore %s", r.Replaced)
	case r.Lost:
		a.out.Print("the content before is a secret, and so it is not in the bucket")
	}
}

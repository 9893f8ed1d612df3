package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
)

func (a *app) bucket() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bucket",
		Short:   "Show or bring back what Files replaced on this host",
		Example: "  fettle bucket list",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(a.bucketList(), a.bucketGet(), a.bucketRestore())
	return cmd
}

func (a *app) bucketList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list [PATH]",
		Short:   "List what is kept, the oldest first: sum, time, size and path",
		Example: "  fettle bucket list /etc/motd",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withHost(func(h Host) error { return a.listBucket(h, args) })
		},
	}
	a.addRoot(cmd)
	return cmd
}

// listBucket has a line for each path of a content, of the one path if one is given.
func (a *app) listBucket(h host.Reader, only []string) error {
	all, err := bucket.List(h)
	if err != nil {
		return fmt.Errorf("cannot read the bucket: %w", err)
	}
	var rows [][]string
	for _, e := range all {
		for _, p := range e.Paths {
			if len(only) == 0 || slices.Contains(only, p) {
				rows = append(rows, []string{e.Sum, e.Saved.UTC().Format(time.RFC3339), strconv.FormatInt(e.Size, 10), printable(p)})
			}
		}
	}
	a.table(rows)
	return nil
}

// printable quotes a path that would not be one word of one line.
func printable(path string) string {
	if quoted := strconv.Quote(path); quoted != `"`+path+`"` {
		return quoted
	}
	return path
}

func (a *app) bucketGet() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "get SUM",
		Short:             "Write a content to standard output",
		Example:           "  fettle bucket get 2c8b08da | diff - /etc/motd",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSum,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withHost(func(h Host) error { return a.getFromBucket(h, args[0]) })
		},
	}
	a.addRoot(cmd)
	return cmd
}

func (a *app) getFromBucket(h host.Reader, sum string) error {
	e, err := bucket.Find(h, sum)
	if err != nil {
		return err
	}
	f, err := bucket.Open(h, e.Sum)
	if err != nil {
		return fmt.Errorf("cannot read from the bucket: %w", err)
	}
	defer f.Close()
	_, err = io.Copy(a.Out, f)
	return err
}

func (a *app) bucketRestore() *cobra.Command {
	var to string
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
			return a.withHost(func(h Host) error { return a.restore(cmd.Context(), h, args[0], to) })
		},
	}
	a.addRoot(cmd)
	cmd.Flags().StringVar(&to, "to", "", "absolute path on the host to write to instead")
	return cmd
}

func (a *app) restore(ctx context.Context, h Host, sum, to string) error {
	e, err := bucket.Find(h, sum)
	if err != nil {
		return err
	}
	if to == "" && len(e.Paths) > 0 {
		to = e.Paths[len(e.Paths)-1]
	}
	if to == "" {
		return fmt.Errorf("nobody knows where %s was found: give --to PATH", e.Sum)
	}
	content, err := bucket.Open(h, e.Sum)
	if err != nil {
		return fmt.Errorf("cannot read from the bucket: %w", err)
	}
	defer content.Close()
	if err := putBack(ctx, h, to, content); err != nil {
		return fmt.Errorf("cannot restore %s: %w", to, err)
	}
	a.say("%s is again as it was with the sum %s", printable(to), e.Sum)
	return nil
}

func putBack(ctx context.Context, h host.Host, to string, content io.Reader) error {
	f := host.NewFile{Content: content, UID: -1, GID: -1}
	switch info, err := h.Lstat(to); {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsRegular():
		f.Mode = new(uint32(0o600))
	case err != nil:
		return err
	default:
		f.Check = func(ctx context.Context, _ string) error {
			_, err := bucket.Save(ctx, h, to)
			return err
		}
	}
	_, err := h.WriteFile(ctx, to, f)
	return err
}

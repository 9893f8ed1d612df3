package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/history"
	"github.com/fettle-dev/fettle/internal/engine/report"
)

func newReport(s shared) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Show the reports of the last eventful runs of a node",
		Long: "report shows what the latest runs on a node did: those that changed something, or found something else than the run\n" +
			"before. A node keeps 20 reports, without diffs.",
		Example: "  kubectl fettle report list web-1",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(newReportList(s), newReportShow(s))
	return cmd
}

// reports returns the reports of a node.
func (s shared) reports(ctx context.Context, node string) ([]report.Stored, error) {
	client, err := s.connect()
	if err != nil {
		return nil, err
	}
	return client.Reports(ctx, node)
}

// A reportList is report list.
type reportList struct {
	shared
	output flags.Output
}

func newReportList(s shared) *cobra.Command {
	c := reportList{shared: s}
	cmd := &cobra.Command{
		Use:               "list NODE",
		Short:             "List the reports of a node, the latest last",
		Example:           "  kubectl fettle report list web-1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeOneNode,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output.AddTable(cmd)
	return cmd
}

func (c *reportList) run(ctx context.Context, node string) error {
	all, err := c.reports(ctx, node)
	if err != nil {
		return err
	}
	return history.List(c.out, all, c.output, time.Now())
}

// A reportShow is report show.
type reportShow struct {
	shared
	output flags.Output
}

func newReportShow(s shared) *cobra.Command {
	c := reportShow{shared: s}
	cmd := &cobra.Command{
		Use:   "show NODE [NUMBER]",
		Short: "Show a report of a node, by default the latest",
		Example: "  kubectl fettle report show web-1\n" +
			"  kubectl fettle report show web-1 17 -o json",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: c.completeOneNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), args[0], append(args, "")[1])
		},
	}
	c.output.AddText(cmd)
	return cmd
}

// run prints a report; "" is the latest.
func (c *reportShow) run(ctx context.Context, node, number string) error {
	all, err := c.reports(ctx, node)
	if err != nil {
		return err
	}
	one, err := history.Choose(all, number)
	if err != nil {
		return fmt.Errorf("%s has %w: see kubectl fettle report list %s", node, err, node)
	}
	return history.Show(c.out, one.Report, c.output)
}

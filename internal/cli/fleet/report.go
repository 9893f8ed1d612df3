package fleet

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/history"
	"github.com/fettle-dev/fettle/internal/engine/report"
)

func (a printer) report() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Show the reports of the last eventful runs of a node",
		Long: "report shows what the latest runs on a node did: those that changed something, or found something else than the run\n" +
			"before. A node keeps 20 reports, without diffs.",
		Example: "  kubectl fettle report list web-1",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(a.listReports(), a.showReport())
	return cmd
}

func (a printer) listReports() *cobra.Command {
	f := a.options()
	cmd := &cobra.Command{
		Use:     "list NODE",
		Short:   "List the reports of a node, the latest last",
		Example: "  kubectl fettle report list web-1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := f.reports(cmd, args[0])
			if err != nil {
				return err
			}
			return history.List(a.Printer, all, f.format, time.Now())
		},
	}
	cmd.ValidArgsFunction = f.completeOneNode
	f.addTable(cmd)
	return cmd
}

func (a printer) showReport() *cobra.Command {
	f := a.options()
	cmd := &cobra.Command{
		Use:   "show NODE [NUMBER]",
		Short: "Show a report of a node, by default the latest",
		Example: "  kubectl fettle report show web-1\n" +
			"  kubectl fettle report show web-1 17 -o json",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := f.reports(cmd, args[0])
			if err != nil {
				return err
			}
			number := ""
			if len(args) == 2 {
				number = args[1]
			}
			one, err := history.Choose(all, number)
			if err != nil {
				return fmt.Errorf("%s has %w: see kubectl fettle report list %s", args[0], err, args[0])
			}
			return history.Show(a.Printer, one.Report, f.format)
		},
	}
	cmd.ValidArgsFunction = f.completeOneNode
	f.addReports(cmd)
	return cmd
}

func (f *options) reports(cmd *cobra.Command, node string) ([]report.Stored, error) {
	client, err := f.connect()
	if err != nil {
		return nil, err
	}
	return client.Reports(cmd.Context(), node)
}

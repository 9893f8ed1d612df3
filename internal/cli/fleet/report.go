package fleet

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

func (a printer) report() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Show the reports of the last eventful runs of a node",
		Long: "report shows what the latest runs on a node did: those that changed something, or found something else than the run\n" +
			"before. A node keeps 20 reports, without diffs.",
		Example: "  fettle fleet report list web-1",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(a.listReports(), a.showReport())
	return cmd
}

func (a printer) listReports() *cobra.Command {
	var f options
	cmd := &cobra.Command{
		Use:     "list NODE",
		Short:   "List the reports of a node, the latest last",
		Example: "  fettle fleet report list web-1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := f.reports(cmd, args[0])
			if err != nil {
				return err
			}
			return a.printReports(all, f.format, time.Now())
		},
	}
	cmd.ValidArgsFunction = f.completeOneNode
	f.addTable(cmd)
	return cmd
}

func (a printer) showReport() *cobra.Command {
	var f options
	cmd := &cobra.Command{
		Use:   "show NODE [NUMBER]",
		Short: "Show a report of a node, by default the latest",
		Example: "  fettle fleet report show web-1\n" +
			"  fettle fleet report show web-1 17 -o json",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := f.reports(cmd, args[0])
			if err != nil {
				return err
			}
			one, err := choose(all, args)
			if err != nil {
				return err
			}
			if f.format == formatText {
				a.printResources(one.Report)
			}
			return a.Report(one.Report, output.Style{Format: f.format})
		},
	}
	cmd.ValidArgsFunction = f.completeOneNode
	f.addReports(cmd)
	return cmd
}

// choose returns the report with the number in the second argument, by default the latest.
func choose(all []overview.StoredReport, args []string) (overview.StoredReport, error) {
	if len(args) == 1 {
		if len(all) == 0 {
			return overview.StoredReport{}, fmt.Errorf("%s has no reports", args[0])
		}
		return all[len(all)-1], nil
	}
	for _, r := range all {
		if strconv.FormatInt(r.Number, 10) == args[1] {
			return r, nil
		}
	}
	return overview.StoredReport{}, fmt.Errorf("%s has no report %q: see fettle fleet report list %s", args[0], args[1], args[0])
}

func (f *options) reports(cmd *cobra.Command, node string) ([]overview.StoredReport, error) {
	client, err := f.connect()
	if err != nil {
		return nil, err
	}
	return client.Reports(cmd.Context(), node)
}

func (a printer) printReports(all []overview.StoredReport, format string, now time.Time) error {
	if format == formatJSON || format == formatYAML {
		return a.Encode(all, format)
	}
	table := [][]string{{"NUMBER", "AGE", "STATUS", "CHANGED", "FAILED", "NOOP", "DURATION"}}
	for _, r := range all {
		c := r.Report.Counts
		table = append(table, []string{
			strconv.FormatInt(r.Number, 10), when(r.Report.Started, now, format), r.Report.Status,
			strconv.Itoa(c.Changed + c.Refreshed), strconv.Itoa(c.Failed), strconv.Itoa(c.Noop), r.Report.Duration.String(),
		})
	}
	if format == formatCSV {
		return a.CSV(table)
	}
	a.Table(table)
	return nil
}

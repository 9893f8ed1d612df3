// Package history shows the reports of the last eventful runs of a host.
package history

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/job"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/hostrun"
)

// Formats of reports.
const (
	formatText  = "text"
	formatTable = "table"
	formatWide  = "wide"
	formatJSON  = "json"
	formatYAML  = "yaml"
	formatCSV   = "csv"
)

// A Place finds the state of the host that the flags of a command select.
type Place struct {
	AddFlags func(cmd *cobra.Command, stateDir *string)
	// With calls a function with the state directory.
	With func(stateDir string, use func(dir string) error) error
}

// Command returns fettle report.
func Command(out *output.Printer, place Place) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Show the reports of the last eventful runs on this host",
		Long: "report shows what the latest runs on this host did: those of the agent and of fettle apply that changed something, or\n" +
			"found something else than the run before. There are 20 reports at most, without diffs. Only root may read them.",
		Example: "  fettle report list",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(list(out, place), show(out, place))
	return cmd
}

func list(out *output.Printer, place Place) *cobra.Command {
	var dir, format string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the reports of this host, the latest last",
		Example: "  fettle report list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return place.read(dir, func(all []report.Stored) error { return List(out, all, format, time.Now()) })
		},
	}
	place.AddFlags(cmd, &dir)
	flags.Output(cmd, &format, "table, wide, json, yaml or csv", formatTable, formatWide, formatJSON, formatYAML, formatCSV)
	return cmd
}

func show(out *output.Printer, place Place) *cobra.Command {
	var dir, format string
	cmd := &cobra.Command{
		Use:     "show [NUMBER]",
		Short:   "Show a report of this host, by default the latest",
		Example: "  fettle report show\n  fettle report show 17 -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			number := ""
			if len(args) == 1 {
				number = args[0]
			}
			return place.read(dir, func(all []report.Stored) error {
				one, err := Choose(all, number)
				if err != nil {
					return fmt.Errorf("this host has %w: see fettle report list", err)
				}
				return Show(out, one.Report, format)
			})
		},
	}
	place.AddFlags(cmd, &dir)
	flags.Output(cmd, &format, "text, json or yaml", formatText, formatJSON, formatYAML)
	return cmd
}

// read calls a function with the reports of the host.
func (p Place) read(stateDir string, use func([]report.Stored) error) error {
	return p.With(stateDir, func(dir string) error {
		all, err := hostrun.History(dir)
		if err != nil {
			return job.ExplainPermission(err)
		}
		return use(all)
	})
}

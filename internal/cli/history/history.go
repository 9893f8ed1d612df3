// Package history shows the reports of the last eventful runs of a host.
package history

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/job"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/hostrun"
)

// Command returns fettle report.
func Command(out *output.Printer, hosts place.Hosts) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Show the reports of the last eventful runs on this host",
		Long: "report shows what the latest runs on this host did: those of the agent and of fettle apply that changed something, or\n" +
			"found something else than the run before. There are 20 reports at most, without diffs. Only root may read them.",
		Example: "  fettle report list",
		Args:    cobra.NoArgs,
	}
	of := reports{out: out, hosts: hosts}
	cmd.AddCommand(newList(of), newShow(of))
	return cmd
}

// Reports are those of the host that the flags of a command select.
type reports struct {
	out   *output.Printer
	hosts place.Hosts
	host  place.Flags
}

// read returns the reports.
func (r reports) read() (all []report.Stored, err error) {
	err = r.hosts.WithState(r.host, r.out.Tracer(), func(dir string) error {
		all, err = hostrun.History(dir)
		return job.ExplainPermission(err)
	})
	return all, err
}

// A listCommand is report list.
type listCommand struct {
	reports
	output flags.Output
}

func newList(of reports) *cobra.Command {
	c := listCommand{reports: of}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the reports of this host, the latest last",
		Example: "  fettle report list",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return c.run() },
	}
	c.host.Add(cmd, c.hosts)
	c.output.AddTable(cmd)
	return cmd
}

func (c *listCommand) run() error {
	all, err := c.read()
	if err != nil {
		return err
	}
	return List(c.out, all, c.output, time.Now())
}

// A showCommand is report show.
type showCommand struct {
	reports
	output flags.Output
}

func newShow(of reports) *cobra.Command {
	c := showCommand{reports: of}
	cmd := &cobra.Command{
		Use:     "show [NUMBER]",
		Short:   "Show a report of this host, by default the latest",
		Example: "  fettle report show\n  fettle report show 17 -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.run(append(args, "")[0]) },
	}
	c.host.Add(cmd, c.hosts)
	c.output.AddText(cmd)
	return cmd
}

func (c *showCommand) run(number string) error {
	all, err := c.read()
	if err != nil {
		return err
	}
	one, err := Choose(all, number)
	if err != nil {
		return fmt.Errorf("this host has %w: see fettle report list", err)
	}
	return Show(c.out, one.Report, c.output)
}

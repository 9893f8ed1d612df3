package fleet

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/text"
)

const formatText = "text"

// addReports adds the flags of commands that print reports.
func (f *options) addReports(cmd *cobra.Command) {
	f.access.Add(cmd)
	flags.Output(cmd, &f.format, "text, json or yaml", formatText, formatJSON, formatYAML)
}

func (a printer) diff() *cobra.Command {
	var f options
	cmd := &cobra.Command{
		Use:   "diff NODE|KIND/NAME",
		Short: "Show how hosts differ from their catalogs now, with diffs",
		Long: "diff asks the agent of a node how its host differs from its catalog now, or the agents of all nodes that a resource selects.\n" +
			"Nothing changes. Commands of users and programs of external types are not started: what only they can tell is skipped.",
		Example: "  fettle fleet diff web-1\n" +
			"  fettle fleet diff File/motd",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runDiff(cmd, f, args[0]) },
	}
	cmd.ValidArgsFunction = f.completeNodeOrRef
	f.addReports(cmd)
	cmd.Flags().BoolVar(&f.codes, "detailed-exitcodes", false, "exit with 2 if there is a difference (default: 0)")
	return cmd
}

func (a printer) runDiff(cmd *cobra.Command, f options, of string) error {
	client, err := f.connect()
	if err != nil {
		return err
	}
	var all []overview.Difference
	if kind, name, isResource := strings.Cut(of, "/"); isResource {
		all, err = differences(cmd, client, kind, name)
	} else {
		all = []overview.Difference{client.Difference(cmd.Context(), of)}
		err = all[0].Err
	}
	if err != nil {
		return err
	}
	return a.printDifferences(all, f)
}

// differences asks all nodes that a resource selects about it.
func differences(cmd *cobra.Command, client *overview.Client, kind, name string) ([]overview.Difference, error) {
	r, err := client.Resource(cmd.Context(), kind, name)
	if err != nil {
		return nil, err
	}
	candidates, err := client.Candidates(cmd.Context(), "")
	if err != nil {
		return nil, err
	}
	explained, err := overview.Why(r, candidates)
	if err != nil {
		return nil, fmt.Errorf("%s selects no node: %w", r.Ref(), err)
	}
	var nodes []string
	for _, e := range explained {
		if e.Selected {
			nodes = append(nodes, e.Node)
		}
	}
	all := client.Differences(cmd.Context(), nodes)
	for i := range all {
		all[i].Report = overview.Only(all[i].Report, string(r.Ref()))
	}
	return all, nil
}

// printDifferences prints the answers of nodes. Without all of them, the exit code is 1.
func (a printer) printDifferences(asked []overview.Difference, f options) error {
	var all []overview.Difference
	differ := 0
	for _, d := range asked {
		if d.Err != nil {
			a.Warn("%v", d.Err)
			continue
		}
		all = append(all, d)
		if d.Report.Counts.Noop+d.Report.Counts.Failed > 0 {
			differ++
		}
	}
	if err := a.printAnswers(all, len(asked), f.format); err != nil {
		return err
	}
	if f.format == formatText && len(asked) != 1 {
		a.Print("different on %d of %s, %d without an answer", differ, text.Count(len(asked), "node"), len(asked)-len(all))
	}
	if len(all) < len(asked) {
		return output.Exit(1)
	}
	return f.exit(differ > 0)
}

// printAnswers prints reports: as text, those of nodes that differ in the same way together.
func (a printer) printAnswers(all []overview.Difference, asked int, format string) error {
	if format != formatText {
		reports := []report.Report{}
		for _, d := range all {
			reports = append(reports, d.Report)
		}
		return a.Encode(reports, format)
	}
	if asked == 1 && len(all) == 1 {
		a.printResources(all[0].Report)
		return a.Report(all[0].Report, output.Style{Format: formatText})
	}
	for _, g := range overview.Alike(all) {
		if len(g.Report.Resources) > 0 {
			a.Print("%s:", text.List(g.Nodes))
			a.printResources(g.Report)
		}
	}
	return nil
}

func (a printer) printResources(r report.Report) {
	for _, res := range r.Resources {
		a.Resource(res, true)
	}
}

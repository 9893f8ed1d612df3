package fleet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/text"
)

func (a printer) status() *cobra.Command {
	f := a.options()
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the fleet on one screen: nodes, resources, recent drift, and problems",
		Long: "status counts nodes and resources by state, and shows what is held, the nodes with problems and those that have yet to apply\n" +
			"their catalog. Nodes in the same state for the same reason are shown together; -o wide lists each. Resources of silent nodes\n" +
			"are unknown.",
		Example: "  kubectl fettle status\n  kubectl fettle status --watch",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return a.watch(cmd, f)
			}
			return a.runStatus(cmd.Context(), f)
		},
	}
	f.add(cmd, "if nodes are pending or out of sync", "if some failed, are held, disabled or silent, or don't get a resource")
	cmd.Flags().BoolVar(&watch, "watch", false, "show the progress of the fleet until interrupted, from the object Fleet, which the manager writes every ten seconds at most")
	return cmd
}

func (a printer) runStatus(ctx context.Context, f options) error {
	client, err := f.connect()
	if err != nil {
		return err
	}
	nodes, err := client.Nodes(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	s := overview.StatusOf(nodes, now)
	if s.Nodes.Held > 0 {
		s.Deselection = a.deselection(ctx, client)
	}
	if err := a.printStatus(s, f.format, now); err != nil {
		return err
	}
	return f.exit(len(s.Others) > 0, len(s.Problems) > 0)
}

// deselection returns what is held, with the command that confirms it; nil if the Fleet cannot be read.
func (a printer) deselection(ctx context.Context, client *overview.Client) *v1alpha1.HeldDeselection {
	fleet, err := client.Fleet(ctx)
	if err != nil {
		a.Warn("cannot say how to confirm what is held: %v", err)
	}
	return fleet.Status.Deselection
}

// maxGroups is the number of groups in a table that is not wide.
const maxGroups = 20

func (a printer) printStatus(s overview.Status, format string, now time.Time) error {
	if format == formatJSON || format == formatYAML {
		return a.Encode(s, format)
	}
	all := slices.Concat(s.Problems, s.Others)
	if format == formatCSV {
		return a.CSV(problemRows(all, now, format))
	}
	a.Table(summary(s))
	if len(all) == 0 {
		return nil
	}
	a.Print("")
	if format == formatWide {
		a.Table(problemRows(all, now, format))
		return nil
	}
	groups := overview.Grouped(all)
	a.Table(groupRows(groups[:min(len(groups), maxGroups)], now))
	if more := len(groups) - maxGroups; more > 0 {
		a.Print("and %d more: use -o wide", more)
	}
	return nil
}

// summary has the counts, and what is held, because that causes the rest.
func summary(s overview.Status) [][]string {
	n, r := s.Nodes, s.Resources
	rows := [][]string{
		{"Nodes", counts(n.Total, "total", n.InSync, "in sync", n.Pending, "pending", n.Held, "held", n.OutOfSync, "out of sync", n.Failed, "failed",
			n.Withheld, "withheld", n.Disabled, "disabled", n.Silent, "silent")},
		{"Resources", counts(r.Total, "total", r.InSync, "in sync", r.Noop, "noop", r.Failed, "failed", r.Withheld, "withheld", r.Skipped, "skipped",
			r.Disabled, "disabled", r.Unknown, "unknown")},
		{"Drift in 24 h", fmt.Sprintf("%s on %s, %d uncorrected", text.Count(s.Drift.Resources, "resource"), text.Count(s.Drift.Nodes, "node"), s.Drift.Uncorrected)},
	}
	if s.Deselection != nil {
		rows = append(rows, []string{"Held", s.Deselection.Message})
	}
	return rows
}

// problemRows has a row for each node.
func problemRows(all []overview.NodeProblem, now time.Time, format string) [][]string {
	rows := [][]string{{"NODE", "STATE", "REASON", "SINCE", "MESSAGE"}}
	for _, p := range all {
		rows = append(rows, []string{p.Node, string(p.State), p.Reason, output.Age(p.Since, now, format), p.Message})
	}
	return rows
}

// groupRows has a row for the nodes that have the same problem.
func groupRows(groups []overview.ProblemGroup, now time.Time) [][]string {
	rows := [][]string{{"STATE", "NODES", "WHICH", "SINCE", "MESSAGE"}}
	for _, g := range groups {
		rows = append(rows, []string{string(g.State), strconv.Itoa(len(g.Nodes)), someNodes(g.Nodes), output.Age(g.Since, now, formatTable), g.Message})
	}
	return rows
}

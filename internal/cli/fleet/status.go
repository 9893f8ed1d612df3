package fleet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/text"
)

// A statusCommand is status.
type statusCommand struct {
	shared
	output flags.Output
	codes  flags.ExitCodes
	watch  bool
}

func newStatus(s shared) *cobra.Command {
	c := statusCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the fleet on one screen: nodes, resources, recent drift, and problems",
		Long: "status counts nodes and resources by state, and shows what is held, rollouts that are not at rest, the nodes with problems\n" +
			"and those that have yet to apply their catalog. Nodes in the same state for the same reason are shown together; -o wide\n" +
			"lists each. Resources of silent nodes are unknown.",
		Example: "  kubectl fettle status\n  kubectl fettle status --watch",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.watch {
				return c.follow(cmd.Context())
			}
			return c.run(cmd.Context())
		},
	}
	c.output.AddTable(cmd)
	c.codes.Add(cmd, "if nodes are pending, out of sync, or wait for a rollout", "if some failed, are held, disabled or silent, or don't get a resource, or a rollout is halted or stuck")
	cmd.Flags().BoolVar(&c.watch, "watch", false, "show the progress of the fleet until interrupted, from the object Fleet, which the manager writes every ten seconds at most")
	return cmd
}

func (c *statusCommand) run(ctx context.Context) error {
	client, err := c.connect()
	if err != nil {
		return err
	}
	nodes, err := client.NodeCatalogs(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	s := overview.StatusOf(nodes, now)
	s.Rollouts = c.rollouts(ctx, client)
	if s.Nodes.Held > 0 || len(s.Rollouts) > 0 {
		fleet := c.fleetStatus(ctx, client, "how to confirm what is held, or how many nodes wait for a rollout")
		s.Deselection, s.Nodes.Waiting = fleet.Deselection, fleet.Nodes.Waiting
	}
	all := slices.Concat(s.Problems, s.Others)
	if err := c.output.PrintTable(c.out, s, problemRows(all, now, c.output), func() { c.print(s, all, now) }); err != nil {
		return err
	}
	return c.codes.Exit(len(s.Others) > 0 || s.RolloutsToCome(), len(s.Problems) > 0 || s.RolloutsStalled())
}

// fleetStatus returns what only the Fleet tells, empty if it cannot be read: then what is missing is a warning.
func (s shared) fleetStatus(ctx context.Context, client *overview.Client, missing string) v1alpha1.FleetStatus {
	fleet, err := client.Fleet(ctx)
	if err != nil {
		s.out.Warn("cannot say %s: %v", missing, err)
	}
	return fleet.Status
}

// rollouts returns the policies whose rollouts are not at rest; none if they cannot be read, or an older manager has none.
func (c *statusCommand) rollouts(ctx context.Context, client *overview.Client) []overview.Policy {
	all, err := client.Policies(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		c.out.Warn("cannot say which rollouts are in progress: %v", err)
	}
	return overview.Unsettled(all)
}

// maxGroups is the number of groups in a table that is not wide.
const maxGroups = 20

// print prints the counts, and tables of the nodes that are not in sync.
func (c *statusCommand) print(s overview.Status, all []overview.NodeProblem, now time.Time) {
	c.out.Table(summary(s))
	if len(all) == 0 {
		return
	}
	c.out.Print("")
	if c.output.Is(flags.Wide) {
		c.out.Table(problemRows(all, now, c.output))
		return
	}
	groups := overview.GroupedProblems(all)
	c.out.Table(groupRows(groups[:min(len(groups), maxGroups)], now))
	if more := len(groups) - maxGroups; more > 0 {
		c.out.Print("and %d more: use -o wide", more)
	}
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
	if n.Waiting > 0 {
		rows = append(rows, []string{"Waiting", text.Count(int(n.Waiting), "node") + " without the newest changes, because of RolloutPolicies"})
	}
	for _, p := range s.Rollouts {
		rows = append(rows, []string{"Rollout", p.Name + ": " + p.Line()})
	}
	return rows
}

// problemRows has a row for each node.
func problemRows(all []overview.NodeProblem, now time.Time, as flags.Output) [][]string {
	rows := [][]string{{"NODE", "STATE", "REASON", "SINCE", "MESSAGE"}}
	for _, p := range all {
		rows = append(rows, []string{p.Node, string(p.State), p.Reason, output.Age(p.Since, now, as.String()), p.Message})
	}
	return rows
}

// groupRows has a row for the nodes that have the same problem.
func groupRows(groups []overview.ProblemGroup, now time.Time) [][]string {
	rows := [][]string{{"STATE", "NODES", "WHICH", "SINCE", "MESSAGE"}}
	for _, g := range groups {
		rows = append(rows, []string{string(g.State), strconv.Itoa(len(g.Nodes)), someNodes(g.Nodes), output.Age(g.Since, now, flags.Table), g.Message})
	}
	return rows
}

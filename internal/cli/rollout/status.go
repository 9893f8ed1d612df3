package rollout

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// A statusCommand is rollout status.
type statusCommand struct {
	Options
	output  flags.Output
	codes   flags.ExitCodes
	watch   bool
	timeout time.Duration
}

func newStatus(o Options) *cobra.Command {
	c := statusCommand{Options: o}
	cmd := &cobra.Command{
		Use:   "status [POLICY]",
		Short: "Show how far rollouts are, and what they wait for",
		Long: "status shows a row for each RolloutPolicy. For one policy, it also shows the message, what the rollout waits for, and the\n" +
			"nodes that failed, cannot prove the target or have yet to do so. --watch prints a line on each change, until the policy is\n" +
			"Ready and the exit code is 0, or it is Stalled or the time is over and the exit code is 1.",
		Example: "  kubectl fettle rollout status\n" +
			"  kubectl fettle rollout status prod --watch --timeout 1h",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.completePolicy,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := append(args, "")[0]
			if c.watch {
				return c.follow(cmd.Context(), name)
			}
			return c.run(cmd.Context(), name)
		},
	}
	c.output.AddTable(cmd)
	c.codes.Add(cmd, "if a rollout is in progress or waits", "if one is stalled")
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "follow the rollout of one policy until it is completed or stalled")
	flags.Duration(cmd, &c.timeout, "timeout", 0, "when --watch gives up, such as 90m (default: never)")
	return cmd
}

func (c *statusCommand) run(ctx context.Context, name string) error {
	if c.timeout != 0 {
		return errors.New("--timeout limits --watch: use both")
	}
	client, err := c.Connect()
	if err != nil {
		return err
	}
	policies, err := c.policies(ctx, client, name)
	if err != nil {
		return err
	}
	rows := policyRows(policies, c.output)
	if err := c.output.PrintTable(c.Out, policies, rows, func() { c.print(policies, rows, name != "") }); err != nil {
		return err
	}
	stalled := slices.ContainsFunc(policies, func(p overview.Policy) bool { return p.Stalled })
	return c.codes.Exit(slices.ContainsFunc(policies, func(p overview.Policy) bool { return p.Active() && !p.Stalled }), stalled)
}

func (c *statusCommand) print(policies []overview.Policy, rows [][]string, one bool) {
	if len(policies) == 0 {
		c.Out.Warn("no RolloutPolicies: changes reach all nodes at once")
		return
	}
	c.Out.Table(rows)
	if !one {
		return
	}
	now := time.Now()
	for _, table := range [][][]string{about(policies[0], now), failureRows(policies[0], now), sampleRows(policies[0])} {
		if len(table) > 0 {
			c.Out.Print("")
			c.Out.Table(table)
		}
	}
}

// policyRows has a row for each policy.
func policyRows(policies []overview.Policy, as flags.Output) [][]string {
	rows := [][]string{{"NAME", "NODES", "STABLE", "TARGET", "AFFECTED", "ADMITTED", "PROVEN", "FAILED", "EXCLUDED", "READY", "REASON"}}
	wide := !as.Is(flags.Table)
	if wide {
		rows[0] = append(rows[0], "PENDING", "MESSAGE")
	}
	for _, p := range policies {
		s := p.Status
		row := append([]string{p.Name, strconv.Itoa(int(s.Nodes.Total)), v1alpha1.ShortRevision(s.Stable), v1alpha1.ShortRevision(s.Target)}, countsOf(s.Nodes)...)
		row = append(row, strconv.FormatBool(p.Ready), p.Reason)
		if wide {
			row = append(row, v1alpha1.ShortRevision(s.Pending), p.Message)
		}
		rows = append(rows, row)
	}
	return rows
}

// countsOf are the columns from AFFECTED to EXCLUDED.
func countsOf(n v1alpha1.RolloutNodes) (cells []string) {
	for _, count := range []int32{n.Affected, n.Admitted, n.Proven, n.Failed, n.Excluded} {
		cells = append(cells, strconv.Itoa(int(count)))
	}
	return cells
}

// about describes a policy, one thing in a row.
func about(p overview.Policy, now time.Time) (rows [][]string) {
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	add("Message", p.Message)
	add("Waits for", p.WaitsFor)
	if p.Paused {
		add("Paused", "see kubectl fettle rollout resume "+p.Name)
	}
	if p.Pinned != "" {
		add("Pinned", v1alpha1.ShortRevision(p.Pinned)+", until kubectl fettle rollout resume "+p.Name)
	}
	add("Pending", v1alpha1.ShortRevision(p.Status.Pending))
	if p.Status.Target != "" && p.Status.Started != nil {
		add("Started", output.Age(p.Status.Started.Time, now, flags.Table)+" ago")
	}
	if !p.Observed {
		add("Note", "the manager has yet to read the last change of the policy")
	}
	return rows
}

// failureRows has a row for each node that failed.
func failureRows(p overview.Policy, now time.Time) [][]string {
	if len(p.Status.Failures) == 0 {
		return nil
	}
	rows := [][]string{{"FAILED NODE", "REASON", "SINCE", "MESSAGE"}}
	for _, f := range p.Status.Failures {
		rows = append(rows, []string{f.Node, f.Reason, output.Age(f.At.Time, now, flags.Table), f.Message})
	}
	if more := int(p.Status.Nodes.Failed) - len(p.Status.Failures); more > 0 {
		rows = append(rows, []string{"and " + strconv.Itoa(more) + " more"})
	}
	return rows
}

// sampleRows has a row for each node that the rollout waits for, without those that failed.
func sampleRows(p overview.Policy) [][]string {
	failed := func(node string) bool {
		return slices.ContainsFunc(p.Status.Failures, func(f v1alpha1.RolloutFailure) bool { return f.Node == node })
	}
	rows := [][]string{{"NODE", "STATE", "MESSAGE"}}
	for _, s := range p.Status.Samples {
		if !failed(s.Node) {
			rows = append(rows, []string{s.Node, s.State, s.Message})
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}

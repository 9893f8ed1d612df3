package rollout

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
)

// A historyCommand is rollout history.
type historyCommand struct {
	Options
	output flags.Output
}

func newHistory(o Options) *cobra.Command {
	c := historyCommand{Options: o}
	cmd := &cobra.Command{
		Use:   "history [POLICY]",
		Short: "Show the last rollouts that have ended, the latest first",
		Long: "history shows the last ten rollouts of each RolloutPolicy, or of one. The outcome is Completed, Unproven if no affected node\n" +
			"could try the revision, or Replaced if another one took its place. KEPT says whether undo can still go back to it.",
		Example: "  kubectl fettle rollout history\n" +
			"  kubectl fettle rollout history prod",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.completePolicy,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), append(args, "")[0]) },
	}
	c.output.AddTable(cmd)
	return cmd
}

// A record is a rollout that has ended.
type record struct {
	Policy                 string `json:"policy"`
	v1alpha1.RolloutRecord `json:",inline"`
	// Kept is set if the cluster still has the CatalogRevision. It is absent if that is unknown.
	Kept *bool `json:"kept,omitempty"`
}

func (c *historyCommand) run(ctx context.Context, name string) error {
	client, err := c.Connect()
	if err != nil {
		return err
	}
	policies, err := c.policies(ctx, client, name)
	if err != nil {
		return err
	}
	kept, err := client.RevisionNames(ctx)
	if err != nil {
		c.Out.Warn("cannot say which CatalogRevisions the cluster still has: %v", err)
	}
	known := err == nil
	records := []record{}
	for _, p := range policies {
		for _, r := range p.Status.History {
			one := record{Policy: p.Name, RolloutRecord: r}
			if known {
				one.Kept = new(slices.Contains(kept, r.Revision))
			}
			records = append(records, one)
		}
	}
	rows := recordRows(records, time.Now(), c.output)
	return c.output.PrintTable(c.Out, records, rows, func() { c.print(rows) })
}

func (c *historyCommand) print(rows [][]string) {
	if len(rows) == 1 {
		c.Out.Warn("no rollout has ended yet")
		return
	}
	c.Out.Table(rows)
}

// recordRows has a row for each rollout.
func recordRows(records []record, now time.Time, as flags.Output) [][]string {
	rows := [][]string{{"POLICY", "REVISION", "OUTCOME", "STARTED", "DURATION", "AFFECTED", "ADMITTED", "PROVEN", "FAILED", "EXCLUDED", "KEPT"}}
	for _, r := range records {
		row := []string{
			r.Policy, v1alpha1.ShortRevision(r.Revision), string(r.Outcome), output.Age(r.Started.Time, now, as.String()),
			duration.HumanDuration(r.Ended.Sub(r.Started.Time)),
		}
		rows = append(rows, append(append(row, countsOf(r.Nodes)...), keptOf(r)))
	}
	return rows
}

func keptOf(r record) string {
	switch {
	case r.Kept == nil:
		return "unknown"
	case *r.Kept:
		return "yes"
	}
	return "no"
}

package rollout

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// An undoCommand is rollout undo.
type undoCommand struct {
	changer
	to string
}

func newUndo(o Options) *cobra.Command {
	c := undoCommand{changer: changer{Options: o}}
	cmd := &cobra.Command{
		Use:   "undo POLICY",
		Short: "Give nodes an earlier revision, and pin them to it",
		Long: "undo sets spec.revision of a RolloutPolicy, and ends a pause: during a rollout, to the stable revision; otherwise to the\n" +
			"revision that was completed before it. Resources of the cluster stay as they are, so correct them, and then use\n" +
			"kubectl fettle rollout resume. Nodes go back without another proof, as many at a time as maxInFlight allows, whatever the window\n" +
			"and the gates of the policy say. Secrets are not part of a revision, and keep their newest values; commands that ran are not undone.\n" +
			useField,
		Example: "  kubectl fettle rollout undo prod\n" +
			"  kubectl fettle rollout undo prod --to 3f0c9a1b22",
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.add(cmd)
	cmd.Flags().StringVar(&c.to, "to", "", "revision in the history of the policy, or another one that the cluster has")
	_ = cmd.RegisterFlagCompletionFunc("to", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return c.revisions(cmd, nil), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (c *undoCommand) run(ctx context.Context, name string) error {
	client, p, err := c.policy(ctx, name)
	if err != nil {
		return err
	}
	to, err := c.revision(ctx, client, p)
	if err != nil {
		return err
	}
	short := v1alpha1.ShortRevision(to)
	if p.Spec.Revision == to && !p.Spec.Paused {
		c.Out.Print("policy %s already pinned to %s", name, short)
		return nil
	}
	changes := []change{{"revision", to}}
	line := "pinned to " + short
	if p.Spec.Paused {
		changes = append(changes, change{"paused", nil})
		line += ", and no longer paused"
	}
	return c.change(ctx, client, p, changes, line)
}

// revision returns the revision to go back to, which the cluster must have.
func (c *undoCommand) revision(ctx context.Context, client *overview.Client, p v1alpha1.RolloutPolicy) (string, error) {
	kept := c.kept(ctx, client, p.Status)
	if c.to != "" {
		to, err := find(c.to, kept)
		if err != nil {
			return "", fmt.Errorf("--to: %w", err)
		}
		return to, nil
	}
	to := before(p.Status)
	switch {
	case to == "":
		return "", fmt.Errorf("the RolloutPolicy %s has completed no other revision: name one that the cluster has with --to", p.Name)
	case !slices.Contains(kept, to):
		return "", fmt.Errorf("the cluster no longer has the CatalogRevision %s: name another one with --to", to)
	}
	return to, nil
}

// before returns the revision that nodes had before: the stable one during the rollout of another, otherwise the last completed one that
// differs from it; "" for none.
func before(s v1alpha1.RolloutPolicyStatus) string {
	if s.Target != "" { // which is the stable one while nodes return
		return s.Stable
	}
	for _, r := range s.History {
		if r.Outcome == v1alpha1.RolloutCompleted && r.Revision != s.Stable {
			return r.Revision
		}
	}
	return ""
}

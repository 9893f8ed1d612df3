package rollout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// useField explains what happens to changes that Git reverts.
const useField = "If a manifest in Git sets the field, the tool that applies it reverts the change, and the command says what to commit."

// A pauseCommand is rollout pause.
type pauseCommand struct{ changer }

func newPause(o Options) *cobra.Command {
	c := pauseCommand{changer{Options: o}}
	cmd := &cobra.Command{
		Use:   "pause POLICY",
		Short: "Prevent changes from reaching further nodes",
		Long: "pause sets spec.paused of a RolloutPolicy. No further node gets a change; those that have it keep it.\n" +
			useField,
		Example: "  kubectl fettle rollout pause prod",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.add(cmd)
	return cmd
}

func (c *pauseCommand) run(ctx context.Context, name string) error {
	client, p, err := c.policy(ctx, name)
	if err != nil {
		return err
	}
	if p.Spec.Paused {
		c.Out.Print("policy %s already paused", name)
		return nil
	}
	return c.change(ctx, client, p, []change{{"paused", true}}, "paused")
}

// A resumeCommand is rollout resume.
type resumeCommand struct{ changer }

func newResume(o Options) *cobra.Command {
	c := resumeCommand{changer{Options: o}}
	cmd := &cobra.Command{
		Use:   "resume POLICY",
		Short: "Let changes reach nodes again after pause or undo",
		Long: "resume removes spec.paused and spec.revision of a RolloutPolicy: nodes get the newest revision.\n" +
			useField,
		Example: "  kubectl fettle rollout resume prod",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.add(cmd)
	return cmd
}

func (c *resumeCommand) run(ctx context.Context, name string) error {
	client, p, err := c.policy(ctx, name)
	if err != nil {
		return err
	}
	var changes []change
	line := "resumed"
	if p.Spec.Paused {
		changes = append(changes, change{"paused", nil})
	}
	if p.Spec.Revision != "" {
		changes = append(changes, change{"revision", nil})
		line += ", and no longer pinned to " + v1alpha1.ShortRevision(p.Spec.Revision)
	}
	if len(changes) == 0 {
		c.Out.Print("policy %s neither paused nor pinned", name)
		return nil
	}
	return c.change(ctx, client, p, changes, line)
}

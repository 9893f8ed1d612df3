package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// A retryCommand is rollout retry.
type retryCommand struct {
	Options
	dryRun flags.DryRun
}

func newRetry(o Options) *cobra.Command {
	c := retryCommand{Options: o}
	cmd := &cobra.Command{
		Use:   "retry NODE",
		Short: "Try the target of a rollout again on a node where it failed",
		Long: "retry has the manager forget that the target failed on a node, once what made it fail there is repaired. The agent applies the\n" +
			"target at once. The node then has to prove it like any other, and no longer counts as failed.",
		Example:           "  kubectl fettle rollout retry web-1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), strings.TrimPrefix(args[0], "node/"))
		},
	}
	c.dryRun.Add(cmd)
	return cmd
}

// complete completes one argument with the nodes that failed.
func (c *retryCommand) complete(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.Complete(cmd, func(ctx context.Context, client *overview.Client) (names []string, err error) {
		all, err := client.Policies(ctx)
		for _, p := range all {
			for _, f := range p.Status.Failures {
				names = append(names, f.Node)
			}
		}
		return names, err
	}), cobra.ShellCompDirectiveNoFileComp
}

func (c *retryCommand) run(ctx context.Context, node string) error {
	if err := c.dryRun.Check(); err != nil {
		return err
	}
	client, err := c.Connect()
	if err != nil {
		return err
	}
	n, err := client.NodeCatalog(ctx, node)
	if err != nil {
		return err
	}
	all, err := client.Policies(ctx)
	if err != nil {
		return err
	}
	p, err := failedIn(n, all)
	if err != nil {
		return err
	}
	if err := client.Retry(ctx, node, p.Status.Target, c.dryRun.Server()); err != nil {
		return err
	}
	c.Out.Print("node %s tries %s again%s", node, v1alpha1.ShortRevision(p.Status.Target), c.dryRun.Done())
	return nil
}

// failedIn returns the policy in whose rollout a node failed. A status names the first failures alone, so a node may have failed if it does
// not name all.
func failedIn(n overview.NodeCatalog, all []v1alpha1.RolloutPolicy) (p v1alpha1.RolloutPolicy, err error) {
	for _, p := range all {
		if p.Status.Target != "" && hasFailed(p.Status, n.Name) {
			return p, nil
		}
	}
	if n.Spec.Rollout == nil {
		return p, fmt.Errorf("no RolloutPolicy takes the node %s", n.Name)
	}
	name := n.Spec.Rollout.Policy
	i := slices.IndexFunc(all, func(p v1alpha1.RolloutPolicy) bool { return p.Name == name })
	switch {
	case i < 0:
		return p, fmt.Errorf("the RolloutPolicy %s, which took the node %s, no longer exists", name, n.Name)
	case all[i].Status.Target == "":
		return p, fmt.Errorf("the RolloutPolicy %s of the node %s has no rollout in progress", name, n.Name)
	case len(all[i].Status.Failures) >= int(all[i].Status.Nodes.Failed):
		return p, fmt.Errorf("revision %s has not failed on the node %s: see kubectl fettle rollout status %s", v1alpha1.ShortRevision(all[i].Status.Target), n.Name, name)
	}
	return all[i], nil
}

func hasFailed(s v1alpha1.RolloutPolicyStatus, node string) bool {
	return slices.ContainsFunc(s.Failures, func(f v1alpha1.RolloutFailure) bool { return f.Node == node })
}

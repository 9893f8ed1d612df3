// Package rollout is kubectl fettle rollout: the commands about RolloutPolicies. Each is a type in a file of its name.
package rollout

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/cli/revision"
)

// Options are the environment of the commands.
type Options struct {
	Out     *output.Printer
	Connect func() (*overview.Client, error)
	// Complete returns names of the cluster, none if it does not answer.
	Complete func(*cobra.Command, func(context.Context, *overview.Client) ([]string, error)) []cobra.Completion
}

// Command returns kubectl fettle rollout.
func Command(o Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Show, pause and undo how changes reach nodes by RolloutPolicies",
		Long: "rollout shows how far the changes of resources have reached nodes, and stops or reverts that. A RolloutPolicy gives a change\n" +
			"to a few nodes first, and to more as these prove that it works. CatalogRevisions are named by the first characters of their\n" +
			"hash, and accepted as a whole name or as any beginning of the hash that only one has.",
		Example: "  kubectl fettle rollout status\n" +
			"  kubectl fettle rollout status prod --watch\n" +
			"  kubectl fettle rollout undo prod",
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newStatus(o), newHistory(o), newDiff(o), newPause(o), newResume(o), newUndo(o), newRetry(o))
	return cmd
}

// completePolicy completes one argument with a policy.
func (o Options) completePolicy(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.policyNames(cmd), cobra.ShellCompDirectiveNoFileComp
}

func (o Options) policyNames(cmd *cobra.Command) []cobra.Completion {
	return o.Complete(cmd, func(ctx context.Context, c *overview.Client) ([]string, error) { return c.PolicyNames(ctx) })
}

// policies returns the states of the policies of the cluster, or of the one with a name unless that is "".
func (o Options) policies(ctx context.Context, client *overview.Client, name string) ([]overview.Policy, error) {
	all, err := client.Policies(ctx)
	if err != nil {
		return nil, err
	}
	states := overview.PoliciesOf(all)
	if name == "" {
		return states, nil
	}
	i := slices.IndexFunc(states, func(p overview.Policy) bool { return p.Name == name })
	if i < 0 {
		_, err := client.Policy(ctx, name) // which suggests similar names
		return nil, err
	}
	return states[i : i+1], nil
}

// kept returns the names of the revisions that can be assigned to nodes: those that the cluster has. If the caller may not list them, they
// are those that the policy names.
func (o Options) kept(ctx context.Context, client *overview.Client, p v1alpha1.RolloutPolicyStatus) []string {
	names, err := client.RevisionNames(ctx)
	if err == nil {
		return names
	}
	o.Out.Warn("cannot say which CatalogRevisions the cluster has, so only those in the status of the policy are known: %v", err)
	return mentioned(p)
}

// mentioned returns the revisions that a status names.
func mentioned(p v1alpha1.RolloutPolicyStatus) []string {
	names := []string{p.Stable, p.Target, p.Pending}
	for _, r := range p.History {
		names = append(names, r.Revision)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// find returns the revision that a word stands for.
func find(word string, names []string) (string, error) {
	name, err := revision.Find(word, names)
	if err != nil {
		return "", fmt.Errorf("revision %w", err)
	}
	return name, nil
}

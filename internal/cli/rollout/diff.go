package rollout

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/cli/revision"
	"github.com/fettle-dev/fettle/internal/text"
)

// A diffCommand is rollout diff.
type diffCommand struct {
	Options
	output flags.Output
	codes  flags.ExitCodes
	policy string
}

func newDiff(o Options) *cobra.Command {
	c := diffCommand{Options: o}
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show which resources two revisions have differently",
		Long: "diff compares the nodes that two CatalogRevisions give each resource to, and its attributes. With --policy, the words stable,\n" +
			"target and pending stand for the revisions of that policy. Values from Secrets are not part of a revision, and sensitive\n" +
			"attributes are not shown.",
		Example: "  kubectl fettle rollout diff 3f0c9a1b22 9b1d0e77c4\n" +
			"  kubectl fettle rollout diff stable target --policy prod",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: c.complete,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1]) },
	}
	c.output.AddText(cmd)
	c.codes.AddUsage(cmd, "exit with 2 if the revisions differ (default: 0)")
	cmd.Flags().StringVar(&c.policy, "policy", "", "policy whose stable, target and pending revision are meant")
	_ = cmd.RegisterFlagCompletionFunc("policy", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return c.policyNames(cmd), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// complete completes revisions.
func (c *diffCommand) complete(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.revisions(cmd, words()), cobra.ShellCompDirectiveNoFileComp
}

// revisions completes the short names of revisions, after other words.
func (o Options) revisions(cmd *cobra.Command, others []string) []cobra.Completion {
	names := o.Complete(cmd, func(ctx context.Context, c *overview.Client) ([]string, error) { return c.RevisionNames(ctx) })
	for _, name := range names {
		others = append(others, v1alpha1.ShortRevision(name))
	}
	return others
}

// words returns the words that stand for a revision of a policy.
func words() []string { return []string{"stable", "target", "pending"} }

func (c *diffCommand) run(ctx context.Context, a, b string) error {
	client, err := c.Connect()
	if err != nil {
		return err
	}
	names, err := c.resolve(ctx, client, a, b)
	if err != nil {
		return err
	}
	changes, err := client.CompareRevisions(ctx, names[0], names[1])
	if err != nil {
		return err
	}
	if err := c.output.Print(c.Out, changes, func() { c.print(changes) }); err != nil {
		return err
	}
	return c.codes.Exit(len(changes) > 0, false)
}

// resolve returns the names of revisions that were given in words.
func (c *diffCommand) resolve(ctx context.Context, client *overview.Client, given ...string) (names []string, err error) {
	var policy v1alpha1.RolloutPolicy
	if c.policy != "" {
		if policy, err = client.Policy(ctx, c.policy); err != nil {
			return nil, err
		}
	}
	kept, err := client.RevisionNames(ctx)
	if err != nil {
		return nil, err
	}
	for _, word := range given {
		name, err := c.named(word, policy.Status, kept)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// named returns the name of the revision that a word stands for.
func (c *diffCommand) named(word string, of v1alpha1.RolloutPolicyStatus, kept []string) (string, error) {
	name, isWord := map[string]string{"stable": of.Stable, "target": of.Target, "pending": of.Pending}[word]
	switch {
	case !isWord:
		return find(word, kept)
	case c.policy == "":
		return "", fmt.Errorf("%s is a revision of a policy: add --policy", word)
	case name == "":
		return "", fmt.Errorf("the RolloutPolicy %s has no %s revision", c.policy, word)
	}
	return name, nil
}

// print prints changes for people.
func (c *diffCommand) print(changes []revision.Change) {
	for _, one := range changes {
		c.Out.PrintIn(colorOf(one.Action), "%s: %s", one.Ref, strings.ToLower(string(one.Action)))
		c.Out.Diff(one.Diff)
		c.Out.Print("")
	}
	if len(changes) == 0 {
		c.Out.Print("no resource differs")
		return
	}
	c.Out.Print("%s %s", text.Count(len(changes), "resource"), text.Plural(len(changes), "differs", "differ"))
}

func colorOf(a reports.Action) output.Color {
	return map[reports.Action]output.Color{
		reports.ActionAdd: output.Green, reports.ActionChange: output.Yellow, reports.ActionRemove: output.Red, reports.ActionWithhold: output.Red,
	}[a]
}

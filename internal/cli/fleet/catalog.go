package fleet

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// A catalogCommand is catalog.
type catalogCommand struct {
	shared
	output flags.Output
	codes  flags.ExitCodes
}

func newCatalog(s shared) *cobra.Command {
	c := catalogCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "catalog NODE",
		Short: "Show the catalog of a node: its resources, and what is withheld from it",
		Long: "catalog shows the resources that a node gets, and those that are withheld from it, with the reason. -o json and yaml show\n" +
			"their attributes; secrets are encrypted for the node.",
		Example:           "  kubectl fettle catalog web-1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeOneNode,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output.AddTable(cmd)
	c.codes.AddUsage(cmd, "exit with 4 if a resource is withheld (default: 0)")
	return cmd
}

func (c *catalogCommand) run(ctx context.Context, node string) error {
	client, err := c.connect()
	if err != nil {
		return err
	}
	all, err := client.Entries(ctx, node)
	if err != nil {
		return err
	}
	if err := c.output.PrintRows(c.out, all, entryRows(all)); err != nil {
		return err
	}
	return c.codes.Exit(false, slices.ContainsFunc(all, func(e overview.Entry) bool { return e.Withheld != nil }))
}

func entryRows(all []overview.Entry) [][]string {
	rows := [][]string{{"RESOURCE", "MANAGES", "NOOP", "WITHHELD"}}
	for _, e := range all {
		noop, withheld := "", ""
		if e.Noop != nil && *e.Noop {
			noop = "true"
		}
		if e.Withheld != nil {
			withheld = cmp.Or(e.Withheld.Message, e.Withheld.Reason)
		}
		rows = append(rows, []string{e.Kind + "/" + e.Name, e.Namevar, noop, withheld})
	}
	return rows
}

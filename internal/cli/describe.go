package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/attributes"
	"github.com/fettle-dev/fettle/internal/cli/description"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/selection"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A describeCommand is describe.
type describeCommand struct{ hostKinds }

func newDescribe(s shared) *cobra.Command {
	c := describeCommand{hostKinds{shared: s}}
	cmd := &cobra.Command{
		Use:   "describe [KIND]",
		Short: "Show the kinds of resources, their attributes, and which providers work on this host",
		Example: "  fettle describe\n" +
			"  fettle describe package",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.completeKind,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.host.AddHost(cmd, s.Hosts)
	c.types.add(cmd)
	return cmd
}

func (c *describeCommand) run(ctx context.Context, args []string) error {
	return c.withHost(c.host, func(at place.Place, h place.Host) error {
		kinds, types, err := c.installedKinds(ctx, c.types, at, h)
		if err != nil {
			return err
		}
		facts := c.gather(ctx, h)
		if len(args) == 0 {
			c.printAll(kinds, facts, h)
			return nil
		}
		k, err := selection.Kind(kinds, args[0])
		if err != nil {
			return err
		}
		fields, err := attributes.Of(k, types.Of(k.Name()))
		if err != nil {
			return err
		}
		description.Page{Kind: k, Fields: fields, Width: c.Width, Out: c.out}.Print(facts, h)
		return nil
	})
}

// printAll prints one line for each kind.
func (c *describeCommand) printAll(kinds []resource.Kind, facts resource.Facts, h place.Host) {
	rows := [][]string{{"KIND", "PROVIDER", "SUMMARY"}}
	for _, k := range kinds {
		provider := resource.Chosen(k, facts, h)
		summary, _, _ := strings.Cut(k.Describe().Doc, "\n")
		rows = append(rows, []string{k.Name(), cmp.Or(provider, "none suitable"), strings.TrimLeft(summary, "# ")})
	}
	c.out.Table(rows)
}

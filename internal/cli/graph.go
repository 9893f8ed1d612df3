package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/manifests"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/engine/plan"
)

// A graphCommand is graph.
type graphCommand struct {
	shared
	sources sourceFlags
}

func newGraph(s shared) *cobra.Command {
	c := graphCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "graph " + useSources,
		Short: "Print the graph of resources and their order, for Graphviz",
		Long: "graph prints the resources of manifests and their relations in the DOT language of Graphviz. Relations that\n" +
			"refresh are bold, automatic ones dashed, and cycles red.",
		Example: "  fettle graph -f manifests/ | dot -Tsvg > graph.svg",
		Args:    c.sources.only,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.sources.add(cmd)
	return cmd
}

func (c *graphCommand) run(ctx context.Context) error {
	set, err := c.readHere(ctx, c.sources)
	if err != nil {
		return err
	}
	c.warnIgnored(set)
	c.warnFaults(set.Faults)
	c.out.Print("%s", output.Block(plan.Dot(compiler.DisplayItems(manifests.Input(set, c.kinds(set.Types, nil))))))
	if len(set.Faults) > 0 {
		return output.Exit(1)
	}
	return nil
}

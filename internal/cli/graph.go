package cli

import (
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/source"
)

func (a *app) graph() *cobra.Command {
	var sources source.Request
	cmd := &cobra.Command{
		Use:   "graph " + useSources,
		Short: "Draw resources and what comes before what, for Graphviz",
		Long: "graph writes the resources of manifests and the relations between them in the language of Graphviz.\n" +
			"Relations that refresh are bold, automatic ones dashed, and cycles red.",
		Example: "  fettle graph -f manifests/ | dot -Tsvg > graph.svg",
		Args:    onlySources(&sources),
		RunE: func(cmd *cobra.Command, _ []string) error {
			set := a.readManifests(cmd.Context(), sources, nil)
			a.noteIgnored(set)
			a.complainOf(set.Faults)
			a.say("%s", block(engine.Dot(compiler.Sketch(compiler.Input{
				Resources: set.Resources(), Refused: refusals(set.Faults), Kinds: a.Kinds, ConfigMap: set.ConfigMaps.Value,
			}))))
			if len(set.Faults) > 0 {
				return Exit(1)
			}
			return nil
		},
	}
	addSources(cmd, &sources)
	return cmd
}

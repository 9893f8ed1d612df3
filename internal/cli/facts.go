package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

func (a *app) facts() *cobra.Command {
	output := "yaml"
	cmd := &cobra.Command{
		Use:   "facts [QUERY]",
		Short: "Show the facts of this host",
		Example: "  fettle facts\n" +
			"  fettle facts os.release.major",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeFact,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--output", output, "json", "yaml"); err != nil {
				return err
			}
			return a.withHost(func(h Host) error { return a.printFacts(a.gather(cmd.Context(), h), args, output) })
		},
	}
	a.addHost(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", output, "json or yaml")
	complete(cmd, "output", "json", "yaml")
	return cmd
}

// printFacts prints all facts, or one; a string as YAML without quotes.
func (a *app) printFacts(facts resource.Facts, query []string, format string) error {
	if len(query) == 0 {
		return a.out.Encode(text.EncodeAll(map[string]any(facts)), format)
	}
	v, ok := facts.Get(query[0])
	if !ok {
		return fmt.Errorf("there is no fact %q", query[0])
	}
	if s, plain := v.(string); plain && format == "yaml" {
		a.out.Print("%s", output.Block(s))
		return nil
	}
	return a.out.Encode(text.EncodeAll(v), format)
}

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// A factsCommand is facts.
type factsCommand struct {
	shared
	host   place.Flags
	output flags.Output
}

func newFacts(s shared) *cobra.Command {
	c := factsCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "facts [QUERY]",
		Short: "Show the facts of this host",
		Example: "  fettle facts\n" +
			"  fettle facts os.release.major",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: c.complete,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.host.AddHost(cmd, s.Hosts)
	c.output.Add(cmd, flags.YAML, flags.JSON, flags.YAML)
	return cmd
}

func (c *factsCommand) run(ctx context.Context, query []string) error {
	return c.withHost(c.host, func(_ place.Place, h place.Host) error { return c.print(c.gather(ctx, h), query) })
}

// print prints all facts, or one; a string as YAML without quotes.
func (c *factsCommand) print(facts resource.Facts, query []string) error {
	if len(query) == 0 {
		return c.out.Encode(text.EncodeAll(map[string]any(facts)), c.output.String())
	}
	v, ok := facts.Get(query[0])
	if !ok {
		return fmt.Errorf("there is no fact %q", query[0])
	}
	if s, plain := v.(string); plain && c.output.Is(flags.YAML) {
		c.out.Print("%s", output.Block(s))
		return nil
	}
	return c.out.Encode(text.EncodeAll(v), c.output.String())
}

// complete completes facts, level by level.
func (c *factsCommand) complete(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	err := c.withHost(c.host, func(_ place.Place, h place.Host) error {
		known, _ := facts.Gather(cmd.Context(), h)
		names = factNames(known, word)
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// factNames are the facts on the level of the word so far.
func factNames(known resource.Facts, word string) []cobra.Completion {
	above, level := "", any(map[string]any(known))
	if dot := strings.LastIndexByte(word, '.'); dot >= 0 {
		above = word[:dot+1]
		level, _ = known.Get(word[:dot])
	}
	m, _ := level.(map[string]any)
	var names []cobra.Completion
	for _, name := range slices.Sorted(maps.Keys(m)) {
		names = append(names, above+name)
	}
	return slices.DeleteFunc(names, unprintable)
}

package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/attributes"
	"github.com/fettle-dev/fettle/internal/cli/description"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/selection"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

func (a *app) describe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "describe [KIND]",
		Short: "Show the kinds of resources, their attributes, and which providers work on this host",
		Example: "  fettle describe\n" +
			"  fettle describe package",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeKind,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(func(h Host) error {
				kinds, types, err := a.installed(cmd.Context(), h, "")
				if err != nil {
					return err
				}
				facts := a.gather(cmd.Context(), h)
				if len(args) == 0 {
					a.describeAll(kinds, facts, h)
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
				description.Page{Kind: k, Fields: fields, Width: a.Width, Out: a.out}.Print(facts, h)
				return nil
			})
		},
	}
	a.addHost(cmd)
	a.addTypes(cmd)
	return cmd
}

// describeAll prints one line for each kind.
func (a *app) describeAll(kinds []resource.Kind, facts resource.Facts, h Host) {
	rows := [][]string{{"KIND", "PROVIDER", "SUMMARY"}}
	for _, k := range kinds {
		provider := resource.Chosen(k, facts, h)
		summary, _, _ := strings.Cut(k.Describe().Doc, "\n")
		rows = append(rows, []string{k.Name(), cmp.Or(provider, "none suitable"), strings.TrimLeft(summary, "# ")})
	}
	a.out.Table(rows)
}

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
			if err := flags.OneOf("--output", output, "json", "yaml"); err != nil {
				return err
			}
			return a.withHost(func(h Host) error { return a.printFacts(a.gather(cmd.Context(), h), args, output) })
		},
	}
	a.addHost(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", output, "json or yaml")
	flags.Complete(cmd, "output", "json", "yaml")
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

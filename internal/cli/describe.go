package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/attributes"
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
				forms, err := attributes.Of(k, types.Of(k.Name()))
				if err != nil {
					return err
				}
				a.describeOne(k, forms, facts, h)
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

func (a *app) describeOne(k resource.Kind, forms map[string]attributes.Form, facts resource.Facts, h Host) {
	d := k.Describe()
	a.out.Print("%s", output.Block(strings.TrimSpace(d.Doc)))
	a.out.Print("\nATTRIBUTES (%s is the namevar)", d.Namevar)
	a.describeAttributes(d, forms)
	if len(d.Features) > 0 {
		a.out.Print("\nFEATURES")
		rows := [][]string{}
		for _, f := range d.Features {
			rows = append(rows, []string{"  " + string(f.Name), f.Doc})
		}
		a.out.Table(rows)
	}
	a.out.Print("\nPROVIDERS")
	for _, s := range k.Suitability(facts, h) {
		a.describeProvider(s)
	}
	a.out.Print("\nEXAMPLE\n%s", output.Block(indent(strings.TrimSpace(d.Example))))
}

// describeWidth is how many characters a line of a description has, after its indent.
const describeWidth = 96

func (a *app) describeAttributes(d resource.Description, forms map[string]attributes.Form) {
	for _, at := range d.Attributes {
		what := "parameter"
		switch {
		case at.Name == d.Namevar:
			what = "namevar"
		case at.ReadOnly:
			what = "audited"
		case at.Property:
			what = "property"
		}
		if f, ok := forms[at.Name]; ok {
			if f.Namevar {
				what = "namevar"
			}
			f.Secret = f.Secret || at.Sensitive
			what += ": " + f.String()
		}
		doc := strings.Join(strings.Fields(at.Doc), " ")
		if at.Feature != "" {
			doc += " Needs the feature " + string(at.Feature) + "."
		}
		a.out.Print("  %s", at.Name)
		a.out.Print("%s", output.Block(text.Wrap(what, describeWidth, "      ")))
		a.out.Print("%s", output.Block(text.Wrap(doc, describeWidth, "      ")))
	}
}

func (a *app) describeProvider(s resource.Suitability) {
	suitability := output.Colored{Color: output.Green, Text: "works on this host"}
	switch {
	case s.Err != nil:
		suitability = output.Colored{Color: output.Yellow, Text: "does not work on this host: " + s.Err.Error()}
	case s.Chosen:
		suitability = output.Colored{Color: output.Green, Text: "is this host's default"}
	}
	a.out.Print("  %s %s", s.Provider, suitability)
	if len(s.Tied) > 0 {
		a.out.Print("    %s", output.Colored{Color: output.Yellow, Text: "equally suitable: " + strings.Join(s.Tied, ", ") + "; the first one is used: set a provider to choose"})
	}
	for _, line := range providerLines(s) {
		a.out.Print("    %s", line)
	}
}

// providerLines describe what a provider needs and can do.
func providerLines(s resource.Suitability) []string {
	var lines []string
	add := func(what string, values ...string) {
		if len(values) > 0 {
			lines = append(lines, what+strings.Join(values, ", "))
		}
	}
	conditions := func(n resource.Needs, only, without string) {
		add(without+"commands: ", n.Commands...)
		add(without+"files: ", n.Files...)
		if len(n.Facts) > 0 {
			add(only+" where ", n.Facts.String())
		}
		for _, e := range n.Exits {
			add(only+" where ", e.String())
		}
	}
	if s.Doc != "" {
		lines = append(lines, strings.Split(text.Wrap(s.Doc, describeWidth, ""), "\n")...)
	}
	conditions(s.Needs, "only", "")
	if s.Needs.Not != nil {
		conditions(*s.Needs.Not, "not", "without the ")
	}
	for _, w := range s.Defaults.For {
		add("default where ", w.String())
	}
	for _, w := range s.Defaults.NotFor {
		add("not the default where ", w.String())
	}
	var names []string
	for _, f := range s.Features {
		names = append(names, string(f))
	}
	add("features: ", names...)
	return lines
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }

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

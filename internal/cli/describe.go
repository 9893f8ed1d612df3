package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/resource"
)

func (a *app) describe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "describe [KIND]",
		Short: "Show the types of resources, their attributes, and which providers work on this host",
		Example: "  fettle describe\n" +
			"  fettle describe package",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeKind,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(func(h Host) error {
				facts := a.gather(cmd.Context(), h)
				if len(args) == 0 {
					a.describeAll(facts, h)
					return nil
				}
				k, err := a.kind(args[0])
				if err != nil {
					return err
				}
				a.describeOne(k, facts, h)
				return nil
			})
		},
	}
	a.addRoot(cmd)
	return cmd
}

// describeAll is a line a type.
func (a *app) describeAll(facts resource.Facts, h Host) {
	rows := [][]string{{"KIND", "PROVIDER", "SUMMARY"}}
	for _, k := range a.Kinds {
		provider := resource.Chosen(k, facts, h)
		summary, _, _ := strings.Cut(k.Describe().Doc, "\n")
		rows = append(rows, []string{k.Name(), cmp.Or(provider, "none suitable"), strings.TrimLeft(summary, "# ")})
	}
	a.table(rows)
}

func (a *app) describeOne(k resource.Kind, facts resource.Facts, h Host) {
	d := k.Describe()
	a.say("%s", block(strings.TrimSpace(d.Doc)))
	a.say("\nATTRIBUTES (%s is the namevar)", d.Namevar)
	a.describeAttributes(d)
	if len(d.Features) > 0 {
		a.say("\nFEATURES")
		rows := [][]string{}
		for _, f := range d.Features {
			rows = append(rows, []string{"  " + string(f.Name), f.Doc})
		}
		a.table(rows)
	}
	a.say("\nPROVIDERS")
	for _, s := range k.Suitability(facts, h) {
		a.describeProvider(s)
	}
	a.say("\nEXAMPLE\n%s", block(indent(strings.TrimSpace(d.Example))))
}

func (a *app) describeAttributes(d resource.Description) {
	var rows [][]string
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
		doc := at.Doc
		if at.Feature != "" {
			doc += " Needs the feature " + string(at.Feature) + "."
		}
		rows = append(rows, []string{"  " + at.Name, what, doc})
	}
	a.table(rows)
}

func (a *app) describeProvider(s resource.Suitability) {
	verdict := a.paint(green, "works on this host")
	switch {
	case s.Err != nil:
		verdict = a.paint(yellow, "does not work on this host: "+s.Err.Error())
	case s.Chosen:
		verdict = a.paint(green, "is this host's default")
	}
	a.say("  %s %s", s.Provider, verdict)
	if len(s.Tied) > 0 {
		a.say("    %s", a.paint(yellow, "as much speaks for "+strings.Join(s.Tied, ", ")+", and the first is taken: name a provider"))
	}
	for _, line := range providerLines(s) {
		a.say("    %s", line)
	}
}

// providerLines are what a provider says of itself, a line for each that there is.
func providerLines(s resource.Suitability) []string {
	var lines []string
	add := func(what string, values ...string) {
		if len(values) > 0 {
			lines = append(lines, what+strings.Join(values, ", "))
		}
	}
	add("commands: ", s.Needs.Commands...)
	add("files: ", s.Needs.Files...)
	if len(s.Needs.Facts) > 0 {
		add("only where ", s.Needs.Facts.String())
	}
	for _, w := range s.Defaults.For {
		add("default where ", w.String())
	}
	for _, w := range s.Defaults.NotFor {
		add("no default where ", w.String())
	}
	var names []string
	for _, f := range s.Features {
		names = append(names, string(f))
	}
	add("features: ", names...)
	return lines
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }

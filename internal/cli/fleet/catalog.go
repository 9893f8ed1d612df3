package fleet

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/overview"
)

func (a printer) catalog() *cobra.Command {
	f := a.options()
	cmd := &cobra.Command{
		Use:   "catalog NODE",
		Short: "Show the catalog of a node: its resources, and what is withheld from it",
		Long: "catalog shows the resources that a node gets, and those that are withheld from it, with the reason. -o json and yaml show\n" +
			"their attributes; secrets are encrypted for the node.",
		Example: "  kubectl fettle catalog web-1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := f.connect()
			if err != nil {
				return err
			}
			all, err := client.Entries(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := a.printCatalog(all, f.format); err != nil {
				return err
			}
			return f.exit(false, slices.ContainsFunc(all, func(e overview.Entry) bool { return e.Withheld != nil }))
		},
	}
	cmd.ValidArgsFunction = f.completeOneNode
	f.addTable(cmd)
	cmd.Flags().BoolVar(&f.codes, "detailed-exitcodes", false, "exit with 4 if a resource is withheld (default: 0)")
	return cmd
}

func (a printer) printCatalog(all []overview.Entry, format string) error {
	if format == formatJSON || format == formatYAML {
		return a.Encode(all, format)
	}
	table := [][]string{{"RESOURCE", "MANAGES", "NOOP", "WITHHELD"}}
	for _, e := range all {
		noop, withheld := "", ""
		if e.Noop != nil && *e.Noop {
			noop = "true"
		}
		if e.Withheld != nil {
			withheld = cmp.Or(e.Withheld.Message, e.Withheld.Reason)
		}
		table = append(table, []string{e.Kind + "/" + e.Name, e.Namevar, noop, withheld})
	}
	if format == formatCSV {
		return a.CSV(table)
	}
	a.Table(table)
	return nil
}

package fleet

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/version"
)

func (a printer) version() *cobra.Command {
	f := a.options()
	var client bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of kubectl fettle and of the agents of all nodes",
		Long: "version shows the versions of this program and of the agents, as the nodes reported them last. It reads NodeCatalogs.\n" +
			"Agents of the version before work with the manager during an upgrade.",
		Example: "  kubectl fettle version\n" +
			"  kubectl fettle version --client",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if client {
				return a.printVersions(overview.Versions{Client: version.String()}, f.format)
			}
			return a.runVersion(cmd, f)
		},
	}
	flags.Output(cmd, &f.format, "text, json or yaml", formatText, formatJSON, formatYAML)
	cmd.Flags().BoolVar(&client, "client", false, "show only the version of this program, without a request")
	return cmd
}

func (a printer) runVersion(cmd *cobra.Command, f options) error {
	client, err := f.connect()
	if err != nil {
		return err
	}
	v, err := client.Versions(cmd.Context())
	if err != nil {
		return err
	}
	v.Client = version.String()
	return a.printVersions(v, f.format)
}

func (a printer) printVersions(v overview.Versions, format string) error {
	if format != formatText {
		return a.Encode(v, format)
	}
	rows := [][]string{{"Client", v.Client}}
	var agents []string
	for _, agent := range v.Agents {
		agents = append(agents, agent.String())
	}
	if len(agents) > 0 {
		rows = append(rows, []string{"Agents", strings.Join(agents, "; ")})
	}
	a.Table(rows)
	return nil
}

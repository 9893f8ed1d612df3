package fleet

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/version"
)

// A versionCommand is version.
type versionCommand struct {
	shared
	output flags.Output
	client bool
}

func newVersion(s shared) *cobra.Command {
	c := versionCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of kubectl fettle and of the agents of all nodes",
		Long: "version shows the versions of this program and of the agents, as the nodes reported them last. It reads NodeCatalogs.\n" +
			"Agents of the version before work with the manager during an upgrade.",
		Example: "  kubectl fettle version\n" +
			"  kubectl fettle version --client",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.output.AddText(cmd)
	cmd.Flags().BoolVar(&c.client, "client", false, "show only the version of this program, without a request")
	return cmd
}

func (c *versionCommand) run(ctx context.Context) error {
	var v overview.Versions
	if !c.client {
		client, err := c.connect()
		if err != nil {
			return err
		}
		if v, err = client.Versions(ctx); err != nil {
			return err
		}
	}
	v.Client = version.String()
	return c.output.Print(c.out, v, func() { c.print(v) })
}

func (c *versionCommand) print(v overview.Versions) {
	rows := [][]string{{"Client", v.Client}}
	var agents []string
	for _, agent := range v.Agents {
		agents = append(agents, agent.String())
	}
	if len(agents) > 0 {
		rows = append(rows, []string{"Agents", strings.Join(agents, "; ")})
	}
	c.out.Table(rows)
}

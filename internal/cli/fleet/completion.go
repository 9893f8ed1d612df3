package fleet

import (
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/output"
)

// completionScript completes kubectl fettle: kubectl calls the program kubectl_complete-PLUGIN on the PATH.
const completionScript = `#!/bin/sh
exec kubectl-fettle __complete "$@"
`

func newCompletion(s shared) *cobra.Command {
	return &cobra.Command{
		Use:   "completion",
		Short: "Print the program with which kubectl completes kubectl fettle in every shell",
		Long: "completion prints a program for kubectl to complete commands, flags, resources and nodes. Write it to a file\n" +
			"kubectl_complete-fettle in your PATH and make it executable; the completion of kubectl itself must be set up.",
		Example: "  kubectl fettle completion > ~/.local/bin/kubectl_complete-fettle",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s.out.Print("%s", output.Block(completionScript[:len(completionScript)-1]))
			return nil
		},
	}
}

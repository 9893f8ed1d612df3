package cli

import (
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/version"
)

func newVersion(s shared) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  fettle version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s.out.Print("fettle version %s", version.String())
			return nil
		},
	}
}

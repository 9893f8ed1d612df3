package flags

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/output"
)

// ExitCodes is the flag --detailed-exitcodes.
type ExitCodes struct{ wanted bool }

// Add adds the flag to a command, for what differs and what fails.
func (e *ExitCodes) Add(cmd *cobra.Command, differs, fails string) {
	e.AddUsage(cmd, fmt.Sprintf("exit with 2 %s, 4 %s, 6 for both (default: 0)", differs, fails))
}

// AddUsage adds the flag to a command that explains its codes itself.
func (e *ExitCodes) AddUsage(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&e.wanted, "detailed-exitcodes", false, usage)
}

// Wanted reports whether the flag is set.
func (e ExitCodes) Wanted() bool { return e.wanted }

// Exit returns the exit code of what was found, if codes are wanted: those of Puppet, where whatever is withheld, held or unknown
// counts as failed.
func (e ExitCodes) Exit(differs, fails bool) error {
	code := 0
	if differs {
		code |= 2
	}
	if fails {
		code |= 4
	}
	if !e.wanted || code == 0 {
		return nil
	}
	return output.Exit(code)
}

package flags

import "github.com/spf13/cobra"

// Values of --dry-run, as in kubectl.
const (
	dryRunNone   = "none"
	dryRunServer = "server"
)

// DryRun is the flag --dry-run of a command that changes objects of a cluster.
type DryRun struct{ value string }

// Add adds the flag to a command.
func (d *DryRun) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.value, "dry-run", dryRunNone, "none, or server: the API server checks the change, and stores nothing")
	Complete(cmd, "dry-run", dryRunNone, dryRunServer)
}

// Check returns an error for a value that is not valid.
func (d DryRun) Check() error { return OneOf("--dry-run", d.value, dryRunNone, dryRunServer) }

// Server reports whether the API server is to store nothing.
func (d DryRun) Server() bool { return d.value == dryRunServer }

// Done is the end of a line about something that was done.
func (d DryRun) Done() string {
	if d.Server() {
		return " (server dry run)"
	}
	return ""
}

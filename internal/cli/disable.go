package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/job"
	"github.com/fettle-dev/fettle/internal/state"
)

func (a *app) disable() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "disable [REASON]",
		Short: "Prevent agents from running on this host until fettle enable",
		Long: "disable prevents agents, and fettle apply --watch, from running on this host until fettle enable. They\n" +
			"report the reason. A run in progress ends as usual. A single run with fettle apply still takes place, with a\n" +
			"note.",
		Example: "  fettle disable \"the disk is being replaced\"",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withStateDir(dir, func(dir string) error {
				if err := state.Disable(dir, append(args, "")[0], time.Now()); err != nil {
					return job.ExplainPermission(err)
				}
				a.out.Print("runs are disabled on this host")
				return nil
			})
		},
	}
	a.addStateDir(cmd, &dir)
	return cmd
}

func (a *app) enable() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "enable",
		Short:   "Allow agents to run on this host again",
		Example: "  fettle enable",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.withStateDir(dir, func(dir string) error {
				was, disabled := errors.AsType[*state.DisabledError](state.Disabled(dir))
				if err := state.Enable(dir); err != nil {
					return job.ExplainPermission(err)
				}
				switch {
				case !disabled:
					a.out.Print("runs were not disabled on this host")
				case was.Since.IsZero():
					a.out.Print("runs are enabled on this host again")
				default:
					a.out.Print("runs are enabled on this host again, after %s", time.Since(was.Since).Round(time.Second))
				}
				return nil
			})
		},
	}
	a.addStateDir(cmd, &dir)
	return cmd
}

// withStateDir calls f with the state directory of the host.
func (a *app) withStateDir(flag string, f func(dir string) error) error {
	return a.withHost(func(Host) error { // a place that is no host has no state either
		dir, err := a.place.stateDir(flag)
		if err != nil {
			return err
		}
		return f(dir)
	})
}

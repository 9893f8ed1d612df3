package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/job"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/state"
)

// A disableCommand is disable.
type disableCommand struct {
	shared
	host place.Flags
}

func newDisable(s shared) *cobra.Command {
	c := disableCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "disable [REASON]",
		Short: "Prevent agents from running on this host until fettle enable",
		Long: "disable prevents agents, and fettle apply --watch, from running on this host until fettle enable. They\n" +
			"report the reason. A run in progress ends as usual. A single run with fettle apply still takes place, with a\n" +
			"note.",
		Example: "  fettle disable \"the disk is being replaced\"",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.run(append(args, "")[0]) },
	}
	c.host.Add(cmd, s.Hosts)
	return cmd
}

func (c *disableCommand) run(reason string) error {
	return c.Hosts.WithState(c.host, c.out.Tracer(), func(dir string) error {
		if err := state.Disable(dir, reason, time.Now()); err != nil {
			return job.ExplainPermission(err)
		}
		c.out.Print("runs are disabled on this host")
		return nil
	})
}

// An enableCommand is enable.
type enableCommand struct {
	shared
	host place.Flags
}

func newEnable(s shared) *cobra.Command {
	c := enableCommand{shared: s}
	cmd := &cobra.Command{
		Use:     "enable",
		Short:   "Allow agents to run on this host again",
		Example: "  fettle enable",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return c.run() },
	}
	c.host.Add(cmd, s.Hosts)
	return cmd
}

func (c *enableCommand) run() error {
	return c.Hosts.WithState(c.host, c.out.Tracer(), func(dir string) error {
		was, disabled := errors.AsType[*state.DisabledError](state.Disabled(dir))
		if err := state.Enable(dir); err != nil {
			return job.ExplainPermission(err)
		}
		switch {
		case !disabled:
			c.out.Print("runs were not disabled on this host")
		case was.Since.IsZero():
			c.out.Print("runs are enabled on this host again")
		default:
			c.out.Print("runs are enabled on this host again, after %s", time.Since(was.Since).Round(time.Second))
		}
		return nil
	})
}

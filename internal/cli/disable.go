package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/state"
)

func (a *app) disable() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "disable [REASON]",
		Short: "Have no agent run on this host until it is enabled again",
		Long: "disable keeps agents, and fettle apply --watch, from running on this host until fettle enable. They say\n" +
			"that they were told so, and the reason. A run that is under way ends as usual. Who asks for a single\n" +
			"run with fettle apply gets it, and a note.",
		Example: "  fettle disable \"the disk is being replaced\"",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withStateDir(dir, func(dir string) error {
				if err := state.Disable(dir, append(args, "")[0], time.Now()); err != nil {
					return mayNot(err)
				}
				a.say("runs are disabled on this host")
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
		Short:   "Let agents run on this host again",
		Example: "  fettle enable",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.withStateDir(dir, func(dir string) error {
				was, disabled := errors.AsType[*state.DisabledError](state.Disabled(dir))
				if err := state.Enable(dir); err != nil {
					return mayNot(err)
				}
				switch {
				case !disabled:
					a.say("runs were not disabled on this host")
				case was.Since.IsZero():
					a.say("runs are enabled on this host again")
				default:
					a.say("runs are enabled on this host again, after %s", time.Since(was.Since).Round(time.Second))
				}
				return nil
			})
		},
	}
	a.addStateDir(cmd, &dir)
	return cmd
}

// addStateDir adds the flags that say where what is remembered between runs lies.
func (a *app) addStateDir(cmd *cobra.Command, dir *string) {
	a.addRoot(cmd)
	cmd.Flags().StringVar(dir, "state-dir", "", "directory for what is remembered between runs (default "+state.DefaultDir+" under the root)")
	_ = cmd.MarkFlagDirname("state-dir") // it was just added
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

func (a *app) withStateDir(asked string, f func(dir string) error) error {
	if err := a.checkRoot(); err != nil {
		return err
	}
	dir, err := a.stateDir(asked)
	if err != nil {
		return err
	}
	return f(dir)
}

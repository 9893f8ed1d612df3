// Package flags has what the flags of several commands share.
package flags

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/durationflag"
)

// OneOf returns an error unless the value of a flag is one of those allowed.
func OneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s %q is not one of %v", flag, value, allowed)
}

// Duration adds a flag for a duration, which may have days and weeks.
func Duration(cmd *cobra.Command, to *time.Duration, name string, value time.Duration, usage string) {
	cmd.Flags().Var(durationflag.New(to, value), name, usage)
}

// Complete completes the values of a flag, which the command must have.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

package program_test

import (
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/elsewhere"
	"github.com/fettle-dev/fettle/internal/cli/fleet"
	"github.com/fettle-dev/fettle/providers"
)

func fettle() *cobra.Command { return cli.Command(cli.Options{Kinds: providers.Kinds()}) }

func kubectlFettle() *cobra.Command { return fleet.Command(fleet.Options{}) }

// all returns a command and its subcommands, except for those that cobra adds, and hidden ones.
func all(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			out = append(out, all(c)...)
		}
	}
	return out
}

func TestHelpExamplesAreValidCalls(t *testing.T) {
	for _, documented := range append(all(fettle()), all(kubectlFettle())...) {
		t.Run(documented.CommandPath(), func(t *testing.T) {
			var calls int
			for line := range strings.Lines(documented.Example) {
				line = strings.TrimSpace(line)
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				calls++
				takes(t, documented.Root(), line)
			}
			if calls == 0 {
				t.Error("the help has no example")
			}
			if documented.Short == "" {
				t.Error("the help has no description")
			}
		})
	}
}

// takes fails the test unless a shell line is a call of a root command that parses.
func takes(t *testing.T, root *cobra.Command, line string) {
	t.Helper()
	own, _, _ := strings.Cut(line, " | ")
	own, _, _ = strings.Cut(own, " < ")
	own, _, _ = strings.Cut(own, " > ")
	call, own := root.CommandPath(), own+" "
	if !strings.HasPrefix(own, call+" ") {
		t.Errorf("%s: not a call of %s", line, call)
		return
	}
	words, err := shellquote.Split(strings.TrimPrefix(own, call))
	if err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	fresh := fettle()
	if call == elsewhere.Plugin {
		fresh = kubectlFettle()
	}
	cmd, rest, err := fresh.Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || !cmd.Runnable() {
		t.Errorf("%s: %v", line, err)
	}
}

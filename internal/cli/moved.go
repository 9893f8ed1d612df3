package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/fleet"
)

// addMoved adds the commands that only the other of fettle and kubectl fettle has. They are hidden, and say where to find them.
func addMoved(to, other *cobra.Command) {
	own := append(names(to), "completion") // cobra adds that of fettle later
	for _, name := range names(other) {
		if !slices.Contains(own, name) {
			to.AddCommand(moved(name, func([]string) string { return elsewhere(to.CommandPath(), name) }))
		}
	}
	of := other
	if to.CommandPath() == fleet.Name {
		of = to
	}
	to.AddCommand(moved("fleet", func(args []string) string { return renamed(names(of), args) }))
}

// names are the names of a command's subcommands.
func names(of *cobra.Command) (all []string) {
	for _, c := range of.Commands() {
		all = append(all, c.Name())
	}
	return all
}

// moved returns a hidden command that fails with a message. Its arguments may be secrets, so the message must have none of them.
func moved(name string, message func(args []string) string) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true, Long: message(nil),
		RunE: func(_ *cobra.Command, args []string) error { return errors.New(message(args)) },
	}
}

// fleetCommands are what users may have meant for the nodes of a cluster by a command for one machine.
var fleetCommands = map[string]string{
	"apply":    "kubectl apply changes the resources of nodes",
	"describe": "kubectl explain describes kinds",
	"facts":    "kubectl get nodecatalog NODE -o yaml has the facts of a node",
	"validate": "kubectl apply --dry-run=server has the cluster check manifests",
}

// elsewhere says where a command is that was called as one of fettle or kubectl fettle, and is one of the other.
func elsewhere(called, name string) string {
	if called == fleet.Name {
		meant := cmp.Or(fleetCommands[name], "kubectl fettle --help lists the commands for the nodes of the cluster")
		return fmt.Sprintf("there is no command %[1]s, because kubectl fettle is about the nodes of a cluster: fettle %[1]s acts on this machine, and %[2]s", name, meant)
	}
	return fmt.Sprintf("there is no command %[1]s, because fettle is about this machine: use kubectl fettle %[1]s for the nodes of a cluster. %[2]s", name, sameProgram)
}

const sameProgram = "If kubectl does not find it, link kubectl-fettle to this program in your PATH"

// renamed says what a command of fettle fleet is called, if it is one of those.
func renamed(names, args []string) string {
	command := fleet.Name
	if i := slices.IndexFunc(args, func(arg string) bool { return slices.Contains(names, arg) }); i >= 0 {
		command += " " + args[i]
	}
	return fmt.Sprintf("fettle fleet is called kubectl fettle: use %s. %s", command, sameProgram)
}

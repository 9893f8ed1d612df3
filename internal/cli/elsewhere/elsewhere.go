// Package elsewhere has the commands that users call in the wrong one of the two programs. They say where the command is.
//
// fettle and kubectl fettle do not contain each other, so the names of their commands are listed here.
package elsewhere

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// Plugin is how users call the program kubectl-fettle.
const Plugin = "kubectl fettle"

// ofFettle are the commands of fettle, which acts on one machine.
func ofFettle() []string {
	return []string{
		"agent", "apply", "bucket", "describe", "disable", "enable", "facts", "graph", "plan", "report", "resource", "support-bundle", "type", "validate", "version",
	}
}

// ofPlugin are the commands of kubectl fettle, which are about the nodes of a cluster.
func ofPlugin() []string {
	return []string{
		"agent", "catalog", "completion", "diff", "disable", "drift", "enable", "plan", "report", "rollout", "status", "support-bundle", "ui", "version", "why",
	}
}

// AddToFettle adds the commands of kubectl fettle to fettle. They are hidden.
func AddToFettle(cmd *cobra.Command) {
	for _, name := range missing(cmd, ofPlugin()) {
		add(cmd, name, func([]string) string {
			return fmt.Sprintf("there is no command %[1]s, because fettle is about this machine: use kubectl fettle %[1]s for the nodes of a cluster. %[2]s", name, Install)
		})
	}
	add(cmd, "fleet", renamed)
}

// AddToPlugin adds the commands of fettle to kubectl fettle. They are hidden.
func AddToPlugin(cmd *cobra.Command) {
	for _, name := range missing(cmd, ofFettle()) {
		add(cmd, name, func([]string) string {
			meant := cmp.Or(meant(name), "kubectl fettle --help lists the commands for the nodes of the cluster")
			return fmt.Sprintf("there is no command %[1]s, because kubectl fettle is about the nodes of a cluster: fettle %[1]s acts on this machine, and %[2]s", name, meant)
		})
	}
	add(cmd, "fleet", renamed)
}

// AddToAgent adds the commands of fettle agent to that of kubectl fettle. They are hidden.
func AddToAgent(cmd *cobra.Command) {
	for _, name := range []string{"install", "status", "uninstall"} {
		add(cmd, name, func([]string) string {
			return fmt.Sprintf("there is no command agent %[1]s, because kubectl fettle is about the nodes of a cluster: fettle agent %[1]s acts on this machine", name)
		})
	}
}

// missing returns the names that no command of a program has. cobra adds completion to fettle.
func missing(cmd *cobra.Command, names []string) []string {
	own := []string{"completion"}
	for _, c := range cmd.Commands() {
		own = append(own, c.Name())
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(own, name) })
}

// add adds a hidden command that fails with a message. Its arguments may be secrets, so the message must have none of them.
func add(to *cobra.Command, name string, message func(args []string) string) {
	to.AddCommand(&cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true, Long: message(nil),
		RunE: func(_ *cobra.Command, args []string) error { return errors.New(message(args)) },
	})
}

// meant returns what users may have meant for the nodes of a cluster by a command for one machine; "" if that is unknown.
func meant(name string) string {
	return map[string]string{
		"apply":    "kubectl apply changes the resources of nodes",
		"describe": "kubectl explain describes kinds",
		"facts":    "kubectl get nodecatalog NODE -o yaml has the facts of a node",
		"validate": "kubectl apply --dry-run=server has the cluster check manifests",
	}[name]
}

// Install says how to get kubectl fettle.
const Install = "If kubectl does not find it, put the program kubectl-fettle of the same release into your PATH"

// renamed says what a command of fettle fleet is called, if it is one of those.
func renamed(args []string) string {
	command := Plugin
	if i := slices.IndexFunc(args, func(arg string) bool { return slices.Contains(ofPlugin(), arg) }); i >= 0 {
		command += " " + args[i]
	}
	return fmt.Sprintf("fettle fleet is called kubectl fettle: use %s. %s", command, Install)
}

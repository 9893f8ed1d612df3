// Package cli is the command fettle: the engine on one machine, without a cluster.
//
// [Command] takes the functions that open a host, so that everything else can be tested in process. Each command is a type in a
// file of its name. Exit codes are errors of type [github.com/fettle-dev/fettle/internal/cli/output.Exit].
package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/elsewhere"
	"github.com/fettle-dev/fettle/internal/cli/history"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/cli/supportbundle"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Options are the environment of the command.
type Options struct {
	program.Streams
	Hosts place.Hosts
	Kinds []resource.Kind
	// CopyOfRoot calls a function with the root of a copy of this machine's files, which it then removes; nil if that is not
	// possible.
	CopyOfRoot func(use func(root string) error) error
	// NodeName is the default of agent install --node-name.
	NodeName string
	// Kustomize builds the kustomization in a directory of this machine.
	Kustomize func(ctx context.Context, dir string) ([]byte, error)
	// Plugin runs kubectl fettle with arguments instead of this program, for what needs a cluster.
	Plugin func(args []string) error
}

// Command returns the command fettle.
func Command(o Options) *cobra.Command { return program.Command(o.Streams, o.build) }

// Run executes the command with arguments. The end of ctx stops a run after the current resource.
func Run(ctx context.Context, o Options, args []string) error {
	return program.Run(ctx, o.Streams, args, o.build)
}

// build implements [program.Build].
func (o Options) build(streams program.Streams, out *output.Printer) *cobra.Command {
	o.Streams = streams
	s := shared{Options: o, out: out}
	cmd := &cobra.Command{
		Use:   "fettle",
		Short: "Bring a machine to the state that resources describe",
		Long: "fettle brings a machine to the state that resources describe: files, packages, users, services and more,\n" +
			"the same resources that a cluster applies to its nodes. fettle describe lists the kinds.",
		Example: "  fettle plan -f manifests/\n" +
			"  fettle apply -f manifests/\n" +
			"  fettle resource user root",
	}
	cmd.AddCommand(newApply(s), newPlan(s), newValidate(s), newGraph(s), newResource(s), newDescribe(s), newFacts(s), newBucket(s), newDisable(s), newEnable(s),
		newType(s), newAgent(s), newVersion(s), history.Command(out, o.Hosts), supportbundle.Command(supportbundle.Options{
			Out: out, Hosts: o.Hosts, Plugin: o.Plugin,
			Example: "  fettle support-bundle cluster\n" +
				"  fettle support-bundle cluster --node web-1\n" +
				"  fettle support-bundle host -o web-1.tar.gz",
		}))
	elsewhere.AddToFettle(cmd)
	return cmd
}

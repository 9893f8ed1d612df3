// Package fleet is kubectl fettle: the commands about the nodes of a cluster. Each is a type in a file of its name.
package fleet

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/bundle"
	"github.com/fettle-dev/fettle/internal/cli/bundle/cluster"
	"github.com/fettle-dev/fettle/internal/cli/elsewhere"
	"github.com/fettle-dev/fettle/internal/cli/kubeconfig"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/cli/rollout"
	"github.com/fettle-dev/fettle/internal/cli/supportbundle"
)

// Options are the environment of the command.
type Options struct {
	program.Streams
	// Hosts opens the host for a support bundle.
	Hosts place.Hosts
	// Kustomize builds the kustomization in a directory of this machine.
	Kustomize func(ctx context.Context, dir string) ([]byte, error)
}

// shared is what all commands get: their environment, a printer, and the cluster that the flags select.
type shared struct {
	Options
	out    *output.Printer
	access *kubeconfig.Flags
}

// Command returns kubectl fettle.
func Command(o Options) *cobra.Command { return program.Command(o.Streams, o.build) }

// Run executes the command with arguments, until ctx ends.
func Run(ctx context.Context, o Options, args []string) error {
	return program.Run(ctx, o.Streams, args, o.build)
}

// build implements [program.Build].
func (o Options) build(streams program.Streams, out *output.Printer) *cobra.Command {
	o.Streams = streams
	s := shared{Options: o, out: out, access: &kubeconfig.Flags{}}
	cmd := &cobra.Command{
		Use:   "fettle",
		Short: "Show the state of a cluster's nodes, and plan changes",
		Long: elsewhere.Plugin + " shows the state of the nodes that Fettle manages, what drifted, and what a change would do. It sees what\n" +
			"you may read, and takes the flags of kubectl. kubectl apply changes resources; fettle, without kubectl, acts on\n" +
			"one machine.",
		Example: "  kubectl fettle status\n" +
			"  kubectl fettle why File/motd\n" +
			"  kubectl fettle plan -f manifests/",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: elsewhere.Plugin},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // kubectl completes its plugins
	}
	s.access.Add(cmd)
	cmd.AddCommand(newStatus(s), newDrift(s), newWhy(s), newDiff(s), newReport(s), newCatalog(s), newPlan(s), newRollout(s), newDisable(s), newEnable(s), newUI(s),
		newVersion(s), newCompletion(s), newAgent(s), newSupportBundle(s))
	elsewhere.AddToPlugin(cmd)
	return cmd
}

func newRollout(s shared) *cobra.Command {
	return rollout.Command(rollout.Options{Out: s.out, Connect: s.connect, Complete: s.complete})
}

func newSupportBundle(s shared) *cobra.Command {
	return supportbundle.Command(supportbundle.Options{
		Out: s.out, Hosts: s.Hosts,
		Collect: func(ctx context.Context, nodes []string, a *bundle.Archive) error {
			cfg, err := s.access.Config()
			if err != nil {
				return err
			}
			return cluster.Collect(ctx, cfg, nodes, a)
		},
		Example: "  kubectl fettle support-bundle cluster\n" +
			"  kubectl fettle support-bundle cluster --node web-1\n" +
			"  kubectl fettle support-bundle host -o web-1.tar.gz",
	})
}

// connect returns a client for the cluster.
func (s shared) connect() (*overview.Client, error) {
	cfg, err := s.access.Config()
	if err != nil {
		return nil, err
	}
	return overview.Connect(cfg)
}

// counts is "3 total, 2 ready", without what is 0 after the first.
func counts(pairs ...any) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		if n := fmt.Sprint(pairs[i]); i == 0 || n != "0" {
			parts = append(parts, fmt.Sprint(n, " ", pairs[i+1]))
		}
	}
	return strings.Join(parts, ", ")
}

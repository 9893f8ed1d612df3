package elsewhere_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/fleet"
	"github.com/fettle-dev/fettle/internal/cli/program"
)

// commandNames are the names of the commands that help shows, or of those that it hides.
func commandNames(root *cobra.Command, hidden bool) (names []string) {
	for _, c := range root.Commands() {
		if c.Hidden == hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

func TestEachProgramHasItsCommandsAndKnowsThoseOfTheOther(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		root             *cobra.Command
		commands, hidden []string
	}{
		{
			cli.Command(cli.Options{}),
			[]string{"agent", "apply", "bucket", "describe", "disable", "enable", "facts", "graph", "plan", "report", "resource", "support-bundle", "type", "validate", "version"},
			[]string{"catalog", "diff", "drift", "fleet", "rollout", "status", "ui", "why"},
		},
		{
			fleet.Command(fleet.Options{}),
			[]string{"agent", "catalog", "completion", "diff", "disable", "drift", "enable", "plan", "report", "rollout", "status", "support-bundle", "ui", "version", "why"},
			[]string{"apply", "bucket", "describe", "facts", "fleet", "graph", "resource", "type", "validate"},
		},
	} {
		if diff := cmp.Diff([][]string{c.commands, c.hidden}, [][]string{commandNames(c.root, false), commandNames(c.root, true)}); diff != "" {
			t.Errorf("%s: %s", c.root.CommandPath(), diff)
		}
	}
}

func TestCommandsOfTheOtherProgramSayWhereTheyAre(t *testing.T) {
	t.Parallel()

	const install = ". If kubectl does not find it, put the program kubectl-fettle of the same release into your PATH"
	for line, want := range map[string]string{
		"kubectl apply -f x.yaml":                    "there is no command apply, because kubectl fettle is about the nodes of a cluster: fettle apply acts on this machine, and kubectl apply changes the resources of nodes",
		"kubectl resource user ann password=hunter2": "there is no command resource, because kubectl fettle is about the nodes of a cluster: fettle resource acts on this machine, and kubectl fettle --help lists the commands for the nodes of the cluster",
		"kubectl facts --help":                       "there is no command facts, because kubectl fettle is about the nodes of a cluster: fettle facts acts on this machine, and kubectl get nodecatalog NODE -o yaml has the facts of a node",
		"kubectl agent install --node-name web-1":    "there is no command agent install, because kubectl fettle is about the nodes of a cluster: fettle agent install acts on this machine",
		"kubectl bucket list":                        "there is no command bucket, because kubectl fettle is about the nodes of a cluster: fettle bucket acts on this machine, and kubectl fettle --help lists the commands for the nodes of the cluster",
		"kubectl fleet status":                       "fettle fleet is called kubectl fettle: use kubectl fettle status" + install,
		"fettle fleet --kubeconfig k drift":          "fettle fleet is called kubectl fettle: use kubectl fettle drift" + install,
		"fettle fleet --token hunter2":               "fettle fleet is called kubectl fettle: use kubectl fettle" + install,
		"fettle status --watch":                      "there is no command status, because fettle is about this machine: use kubectl fettle status for the nodes of a cluster" + install,
		"fettle why File/motd":                       "there is no command why, because fettle is about this machine: use kubectl fettle why for the nodes of a cluster" + install,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()

			words := strings.Fields(line)
			streams := program.Streams{Out: io.Discard, Err: io.Discard}
			var err error
			if words[0] == "kubectl" {
				err = fleet.Run(t.Context(), fleet.Options{Streams: streams}, words[1:])
			} else {
				err = cli.Run(t.Context(), cli.Options{Streams: streams}, words[1:])
			}
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// Command cluster runs a real Kubernetes cluster on this machine: make cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/test/cluster"
)

func main() { os.Exit(run()) }

// run returns the exit status: of the user's command, if that failed.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err := root().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if exit := new(failedCommand); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "cluster:", err)
	return 1
}

// A failedCommand is the error of a command that the user ran in the cluster. It has explained itself.
type failedCommand struct{ *exec.ExitError }

func root() *cobra.Command {
	root := &cobra.Command{Use: "cluster", Short: "Run a real Kubernetes cluster on this machine", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(
		withFlags(&cobra.Command{Use: "up", Short: "start a cluster, and stay until SIGTERM", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return up(c) }}),
		withFlags(&cobra.Command{Use: "start", Short: "start a cluster in the background, and return when it is ready", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return start(c) }}),
		&cobra.Command{Use: "stop", Short: "end the running cluster", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return stop(c.Context()) }},
		&cobra.Command{Use: "room LIMIT", Short: "print how many clusters, from 1 to LIMIT, can be started at the same time", Args: cobra.ExactArgs(1), RunE: room},
		inCluster(&cobra.Command{Use: "run COMMAND...", Short: "run a command with KUBECONFIG set and kubectl on PATH", Args: cobra.MinimumNArgs(1)}, running.run),
		inCluster(&cobra.Command{Use: "node NAME COMMAND...", Short: "run a command on a node, as root", Args: cobra.MinimumNArgs(2)}, running.node),
		inCluster(&cobra.Command{Use: "load ARCHIVE...", Short: "import images on all nodes", Args: cobra.MinimumNArgs(1)}, running.load),
	)
	return root
}

func withFlags(c *cobra.Command) *cobra.Command {
	c.Flags().Int("nodes", 3, "number of nodes")
	c.Flags().StringSlice("packages", []string{"nginx-light"}, "packages of Debian that machines can install")
	return c
}

// room prints at least 1, so that the start of a cluster explains what is missing.
func room(c *cobra.Command, args []string) error {
	limit, err := strconv.Atoi(args[0])
	if err != nil || limit < 1 {
		return fmt.Errorf("LIMIT is %q: use a positive number", args[0])
	}
	fmt.Fprintln(c.OutOrStdout(), max(1, cluster.Room(limit)))
	return nil
}

// inCluster makes a command act on the running cluster. Flags after its arguments are not its own.
func inCluster(c *cobra.Command, act func(running, context.Context, []string) error) *cobra.Command {
	c.Flags().SetInterspersed(false)
	c.RunE = func(c *cobra.Command, args []string) error {
		cluster, err := find()
		if err != nil {
			return err
		}
		return act(cluster, c.Context(), args)
	}
	return c
}

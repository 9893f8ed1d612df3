package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/fettle-dev/fettle/nodeagent/probe"
)

// serve runs the agent when it is its turn, and the configured servers at once. The first failure ends all of them.
func serve(ctx context.Context, opts options, metrics prometheus.Gatherer, agent *turn, alive func() error, renew func(context.Context)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer stop()
		return agent.Run(ctx)
	})
	group.Go(func() error { renew(ctx); return nil }) // also while another agent acts
	group.Go(func() error { return serveMetrics(ctx, opts.metrics, metrics) })
	group.Go(func() error { return serveProbes(ctx, opts.probes, alive, agent) })
	return group.Wait()
}

// patience is how long a container counts as starting while its first run takes place. The kubelet asks often only
// during that time.
const patience = time.Minute

// serveProbes answers the kubelet's probes: "live", "ready", and "started", which ends the startup probe. "acting" tells
// people whether this agent waits for another one.
func serveProbes(ctx context.Context, socket string, live func() error, agent *turn) error {
	if socket == "" {
		return nil
	}
	begin := time.Now()
	return probe.Serve(ctx, socket, probe.Checks{"live": live, "ready": agent.Ready, "acting": agent.Acting, "started": func() error {
		if time.Since(begin) > patience {
			return nil
		}
		return agent.Ready()
	}})
}

// ask runs the subcommand that the kubelet executes in the container.
func ask(ctx context.Context, args []string, usage io.Writer) error {
	flags := flag.NewFlagSet("nodeagent probe", flag.ContinueOnError)
	flags.SetOutput(usage)
	socket := flags.String("socket", probe.DefaultSocket, "path of --probe-socket of the agent")
	flags.Usage = func() {
		fmt.Fprintln(usage, "Usage: nodeagent probe [--socket PATH] started|ready|live|acting\n\nAsks the agent in this pod for its state. Exits with 1 if it is not in that state. An agent is ready but\nnot acting while another one, such as a service of the host, acts on this host.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("probe requires one of started, ready, live and acting: got %q", flags.Args())
	}
	return probe.Ask(ctx, *socket, flags.Arg(0))
}

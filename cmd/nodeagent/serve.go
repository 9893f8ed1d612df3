package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fettle-dev/fettle/nodeagent"
)

// serve runs the agent and the configured servers. The first failure ends all of them.
func serve(ctx context.Context, opts options, cfg *rest.Config, agent *nodeagent.Agent) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer stop()
		return agent.Run(ctx)
	})
	group.Go(func() error { return serveMetrics(ctx, opts.metrics, cfg) })
	group.Go(func() error { return serveHealth(ctx, opts.health, agent.Alive) })
	return group.Wait()
}

func serveMetrics(ctx context.Context, address string, cfg *rest.Config) error {
	metrics, err := server.NewServer(server.Options{BindAddress: address}, cfg, http.DefaultClient)
	if err != nil || metrics == nil {
		return err
	}
	if err := metrics.Start(ctx); err != nil {
		return fmt.Errorf("cannot serve metrics on %s: %w", address, err)
	}
	return nil
}

// serveHealth serves the agent's liveness.
func serveHealth(ctx context.Context, address string, alive func() error) error {
	if address == "0" {
		return nil
	}
	check := func(*http.Request) error { return alive() }
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/readyz"} {
		mux.Handle(path, http.StripPrefix(path, &healthz.Handler{Checks: map[string]healthz.Checker{"agent": check}}))
	}
	probes := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { _ = probes.Close() })()
	if err := probes.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve health probes on %s: %w", address, err)
	}
	return nil
}

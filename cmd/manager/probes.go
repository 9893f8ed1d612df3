package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/fettle-dev/fettle/internal/fleet/ports"
)

// serveProbes answers /healthz as soon as it returns, and /readyz with the reason why the manager is
// not ready. It answers before there is an API server and after the manager has stopped, so that the
// kubelet doesn't restart a manager that waits or cleans up.
func serveProbes(ctx context.Context, address string, ready func() error) (stop func(), err error) {
	if address == "0" {
		return func() {}, nil
	}
	listener, err := ports.Listen(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{Handler: mux, MaxHeaderBytes: ports.MaxHeaderBytes, ReadTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until it is closed
	return func() { _ = server.Close() }, nil
}

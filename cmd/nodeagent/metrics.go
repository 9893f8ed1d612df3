package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	clientmetrics "k8s.io/client-go/tools/metrics"
)

// newMetrics returns the metrics of the process, of the Go runtime and of requests to the API server, under the names that
// controller-runtime gives them.
func newMetrics() *prometheus.Registry {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total", Help: "Number of HTTP requests, partitioned by status code, method, and host.",
	}, []string{"code", "method", "host"})
	clientmetrics.Register(clientmetrics.RegisterOpts{RequestResult: requestCounter{requests}})
	all := prometheus.NewRegistry()
	all.MustRegister(requests, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)))
	return all
}

// A requestCounter counts what client-go requests.
type requestCounter struct{ requests *prometheus.CounterVec }

// Increment implements [clientmetrics.ResultMetric].
func (c requestCounter) Increment(_ context.Context, code, method, host string) {
	c.requests.WithLabelValues(code, method, host).Inc()
}

// defaultMetricsAddress is that of an empty --metrics-bind-address.
const defaultMetricsAddress = ":8080"

// serveMetrics serves metrics over HTTP until ctx ends. The address 0 disables it.
func serveMetrics(ctx context.Context, address string, metrics prometheus.Gatherer) error {
	if address == "0" {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(address, defaultMetricsAddress))
	if err != nil {
		return fmt.Errorf("cannot serve metrics on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 32 * time.Second, IdleTimeout: 90 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve metrics on %s: %w", address, err)
	}
	return nil
}

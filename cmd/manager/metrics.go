package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/fettle-dev/fettle/internal/fleet/ports"
)

// A metricsServer serves the metrics of a manager, with TLS, to those who may get them. Unlike the one of controller-runtime, it bounds
// connections and headers. It is a manager.Runnable.
type metricsServer struct {
	address string
	handler http.Handler
}

// serveMetrics adds a metricsServer to a manager, unless the address is 0.
func serveMetrics(mgr ctrl.Manager, cfg *rest.Config, address string) error {
	if address == "0" {
		return nil
	}
	filter, err := filters.WithAuthenticationAndAuthorization(cfg, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("cannot check who asks for metrics: %w", err)
	}
	handler, err := filter(ctrl.Log.WithName("metrics"), promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	if err != nil {
		return fmt.Errorf("cannot check who asks for metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	return mgr.Add(&metricsServer{address, mux})
}

// NeedLeaderElection returns false: every manager has metrics.
func (*metricsServer) NeedLeaderElection() bool { return false }

// Start serves until ctx ends.
func (s *metricsServer) Start(ctx context.Context) error {
	certificate, key, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{Host: "localhost"})
	if err != nil {
		return fmt.Errorf("cannot create the certificate of the metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("cannot create the certificate of the metrics: %w", err)
	}
	listener, err := ports.Listen(ctx, s.address)
	if err != nil {
		return fmt.Errorf("cannot serve metrics: %w", err)
	}
	server := &http.Server{
		Handler: s.handler,
		// HTTP/2 lets unauthenticated clients keep a server busy.
		TLSConfig:      &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}},
		TLSNextProto:   map[string]func(*http.Server, *tls.Conn, http.Handler){},
		MaxHeaderBytes: ports.MaxHeaderBytes, ReadTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // a scraper asks again
	defer stop()
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve metrics: %w", err)
	}
	return nil
}

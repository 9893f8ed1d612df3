package reportsapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/internal/fleet/ports"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
	"github.com/fettle-dev/fettle/internal/fleet/relay"
)

// A Server serves the API while its manager leads, and passes connections on to the leader while it does not. It is a
// manager.Runnable. All fields are required.
type Server struct {
	Address string // to listen on
	Config  *rest.Config
	Client  client.Client // without a cache
	Hub     *questions.Hub
	Check   Checker
	Base    BaseFunc
	// Elected is closed once the manager leads, for as long as its process runs.
	Elected <-chan struct{}
	// Leader returns the address of the leader.
	Leader func(ctx context.Context) (netip.Addr, error)
	Log    logr.Logger
}

// bodyTimeout is the time for a request's header, and for its body.
const bodyTimeout = 10 * time.Second

// registerPeriod is the time between two checks of the APIService, and after a failure.
const registerPeriod = 30 * time.Second

// certificateAge exceeds the life of every process: a certificate is never stored.
const certificateAge = 20 * 365 * 24 * time.Hour

// NeedLeaderElection returns false: see Server.
func (*Server) NeedLeaderElection() bool { return false }

// Start serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	listener, err := ports.Listen(ctx, s.Address)
	if err != nil {
		return fmt.Errorf("cannot serve reports: %w", err)
	}
	var handler atomic.Pointer[http.Handler]
	var certificate atomic.Pointer[tls.Certificate]
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(w, r) }),
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, NextProtos: []string{"h2", "http/1.1"},
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				if c := certificate.Load(); c != nil {
					return c, nil
				}
				return nil, errors.New("the manager has just become the leader")
			},
		},
		// The API server passes bodies on as slowly as their senders send them.
		MaxHeaderBytes: ports.MaxHeaderBytes, ReadTimeout: bodyTimeout, ReadHeaderTimeout: bodyTimeout, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(s.Log), slog.LevelDebug),
	}
	defer func() { _ = server.Close() }() // with its listener
	leads := func() bool {
		select {
		case <-s.Elected:
			return true
		default:
			return false
		}
	}
	go func() {
		_ = server.ServeTLS(&relay.Listener{Listener: listener, Leads: leads, Leader: s.leader(listener.Addr())}, "", "") // until it is closed
	}()
	select {
	case <-s.Elected:
	case <-ctx.Done():
		return nil
	}
	s.lead(ctx, func(h http.Handler, c *tls.Certificate) {
		handler.Store(&h)
		certificate.Store(c)
	})
	return nil
}

// leader returns the function that finds the leader. It listens on the same port.
func (s *Server) leader(own net.Addr) func(ctx context.Context) (netip.AddrPort, error) {
	return func(ctx context.Context) (netip.AddrPort, error) {
		port, err := netip.ParseAddrPort(own.String())
		if err != nil {
			return port, err
		}
		leader, err := s.Leader(ctx)
		return netip.AddrPortFrom(leader, port.Port()), err
	}
}

// lead calls serve once the API can be served, and keeps the APIService up to date until ctx ends.
func (s *Server) lead(ctx context.Context, serve func(http.Handler, *tls.Certificate)) {
	var ca []byte
	state := ""
	for {
		host, err := register(ctx, s.Client, ca)
		if err == nil && ca == nil {
			ca, err = s.prepare(ctx, host, serve)
			if err == nil {
				_, err = register(ctx, s.Client, ca)
			}
		}
		if now := describe(err); now != state && ctx.Err() == nil {
			s.Log.Info(now)
			state = now
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(registerPeriod):
		}
	}
}

func describe(err error) string {
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return "reports and differences of nodes are not served: config/reports is not installed: " + err.Error()
	case err != nil:
		return "reports and differences of nodes are not served: " + err.Error()
	}
	return "reports and differences of nodes are served"
}

// prepare creates the certificate for a host and the handler.
func (s *Server) prepare(ctx context.Context, host string, serve func(http.Handler, *tls.Certificate)) (ca []byte, err error) {
	handler, err := newHandler(ctx, s.Config, s.Hub, s.Check, s.Base, s.Log)
	if err != nil {
		return nil, err
	}
	ca, key, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{Host: host, MaxAge: certificateAge})
	if err != nil {
		return nil, fmt.Errorf("cannot create a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(ca, key)
	if err != nil {
		return nil, fmt.Errorf("cannot create a certificate: %w", err)
	}
	serve(handler, &pair)
	return ca, nil
}

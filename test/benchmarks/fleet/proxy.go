package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// A proxy stands between the API server and the manager or the bare client, and counts bytes. API servers count no
// bytes of patches.
type proxy struct {
	server         *httptest.Server
	patches, bytes atomic.Int64 // of NodeCatalogs, except for their status
}

func newProxy(s *bench.Stage, cfg *rest.Config) *proxy {
	to, err := url.Parse(cfg.Host)
	s.Must(err)
	transport, err := rest.TransportFor(cfg)
	s.Must(err)
	p := &proxy{}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1, // watches
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/nodecatalogs/") && !strings.HasSuffix(r.URL.Path, "/status") {
			p.patches.Add(1)
			p.bytes.Add(r.ContentLength)
		}
		forward.ServeHTTP(w, r)
	}))
	s.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

// config is the way through it, for whom it lets in as the administrator that it is.
func (p *proxy) config() *rest.Config { return &rest.Config{Host: p.server.URL, QPS: -1} }

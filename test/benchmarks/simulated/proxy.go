package simulated

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// A Proxy is between the API server and the manager or another client, and counts requests and bytes. API servers count no
// bytes of patches.
type Proxy struct {
	Patches, Bytes atomic.Int64 // of NodeCatalogs, except for their status

	server   *httptest.Server
	mu       sync.Mutex
	policies map[string][]time.Time
}

func newProxy(s *bench.Stage, cfg *rest.Config) *Proxy {
	to, err := url.Parse(cfg.Host)
	s.Must(err)
	transport, err := rest.TransportFor(cfg)
	s.Must(err)
	p := &Proxy{policies: map[string][]time.Time{}}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1, // watches
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.count(r)
		forward.ServeHTTP(w, r)
	}))
	s.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

func (p *Proxy) count(r *http.Request) {
	status := strings.HasSuffix(r.URL.Path, "/status")
	switch {
	case r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/nodecatalogs/") && !status:
		p.Patches.Add(1)
		p.Bytes.Add(r.ContentLength)
	case r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/rolloutpolicies/") && status:
		p.mu.Lock()
		defer p.mu.Unlock()
		name := path.Base(path.Dir(r.URL.Path))
		p.policies[name] = append(p.policies[name], time.Now())
	}
}

// PolicyWrites returns the times of the writes of each RolloutPolicy's status since a time.
func (p *Proxy) PolicyWrites(since time.Time) (all [][]time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, times := range p.policies {
		first := slices.IndexFunc(times, func(t time.Time) bool { return !t.Before(since) })
		if first >= 0 {
			all = append(all, slices.Clone(times[first:]))
		}
	}
	return all
}

// Config is the configuration of a client that uses the proxy, as the administrator.
func (p *Proxy) Config() *rest.Config { return &rest.Config{Host: p.server.URL, QPS: -1} }

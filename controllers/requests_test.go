package controllers_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// requests record what a client requests from an API server. Safe for concurrent use.
type requests struct {
	mu      sync.Mutex
	all     []string
	last    time.Time              // of a request that is noted, but for the lease of who leads
	count   int                    // of such requests
	refused atomic.Pointer[string] // the part of a path that gets no answer
	reads   map[string]string      // the query of the first list or watch, by path
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// record wraps a transport. Requests for metadata only are not recorded.
func (rs *requests) record(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		rs.recordRead(r)
		if !strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
			rs.mu.Lock()
			rs.all = append(rs.all, r.Method+" "+r.URL.Path)
			if !strings.Contains(r.URL.Path, "/leases/fettle-manager") {
				rs.last = time.Now()
				rs.count++
			}
			rs.mu.Unlock()
		}
		if part := rs.refused.Load(); part != nil && strings.Contains(r.URL.Path, *part) {
			return nil, errors.New("refused")
		}
		return next.RoundTrip(r)
	})
}

// recordRead records the first list or watch of each collection, including those of metadata.
func (rs *requests) recordRead(r *http.Request) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	path := r.URL.Path + r.Header.Get("Accept")
	if _, known := rs.reads[path]; known || r.Method != http.MethodGet || !r.URL.Query().Has("watch") && !r.URL.Query().Has("resourceVersion") {
		return
	}
	if rs.reads == nil {
		rs.reads = map[string]string{}
	}
	rs.reads[path] = r.URL.RawQuery
}

// firstReads returns the queries with which informers started.
func (rs *requests) firstReads() []string {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.Collect(maps.Values(rs.reads))
}

// matching returns the recorded requests whose path contains a part.
func (rs *requests) matching(part string) []string {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(rs.all), func(s string) bool { return !strings.Contains(s, part) })
}

// awaitQuiet waits until there has been no request for a second, and while the test itself made a hundred: on a busy machine,
// requests may be late.
func (rs *requests) awaitQuiet(ctx context.Context, own client.Reader) error {
	const enough = 100
	count, quiet := rs.sinceLast()
	for reads := 0; reads < enough || quiet < time.Second; reads++ {
		if err := own.List(ctx, &v1alpha1.FleetList{}); err != nil {
			return err
		}
		before := count
		if count, quiet = rs.sinceLast(); count != before {
			reads = 0
		}
	}
	return nil
}

// sinceLast returns the number of requests, and the time since the last one.
func (rs *requests) sinceLast() (int, time.Duration) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.count, time.Since(rs.last)
}

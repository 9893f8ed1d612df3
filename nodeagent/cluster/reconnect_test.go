package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/nodeagent/cluster"
)

// A mortal is an API server without objects, which can be killed and started again. Connections are refused meanwhile.
type mortal struct {
	mu   sync.Mutex
	life context.Context //nolint:containedctx // of the server
	kill context.CancelFunc
}

func (m *mortal) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life, m.kill = context.WithCancel(context.Background()) //nolint:forbidigo // it ends when it is killed
}

func (m *mortal) alive() context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.life
}

// A connection is one of an agent to the server.
type connection struct {
	to      *mortal
	watched func() // called with each watch that begins
}

// RoundTrip implements [http.RoundTripper].
func (c connection) RoundTrip(r *http.Request) (*http.Response, error) {
	alive := c.to.alive()
	if alive.Err() != nil {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	if !r.URL.Query().Has("watch") {
		answer.Body = io.NopCloser(strings.NewReader(`{"kind":"NodeCatalogList","apiVersion":"fettle.dev/v1alpha1","metadata":{"resourceVersion":"1"},"items":[]}`))
		return answer, nil
	}
	body, events := io.Pipe()
	go func() {
		const last = `{"type":"BOOKMARK","object":{"kind":"NodeCatalog","apiVersion":"fettle.dev/v1alpha1","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`
		_, _ = fmt.Fprintln(events, last)
		c.watched()
		select {
		case <-alive.Done():
		case <-r.Context().Done():
		}
		_ = events.CloseWithError(io.ErrUnexpectedEOF)
	}()
	answer.Body = body
	return answer, nil
}

// The watches of many agents end for as long as an API server takes to start.
func TestWatchesReconnectGradually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock does not depend on the machine
		const (
			agents = 60
			away   = 8 * time.Second
			window = time.Second
		)
		ctx, cancel := context.WithCancel(t.Context())
		var server mortal
		server.start()
		var mu sync.Mutex
		var watching sync.WaitGroup
		var opened time.Time
		back := map[time.Duration]int{} // agents by the second in which their watch began again
		for i := range agents {
			watched := func() {
				mu.Lock()
				defer mu.Unlock()
				back[time.Since(opened).Truncate(window)]++
			}
			agent, err := cluster.Connect(&rest.Config{Host: "http://api", Transport: connection{&server, watched}}, fmt.Sprintf("node-%d", i))
			if err != nil {
				t.Fatal(err)
			}
			watching.Go(func() { agent.Watch(ctx, func(*v1alpha1.NodeCatalog) {}) })
		}
		<-time.After(time.Minute)
		server.kill()
		<-time.After(away)
		mu.Lock()
		clear(back)
		opened = time.Now()
		mu.Unlock()
		server.start()
		<-time.After(time.Minute)
		cancel()
		server.kill()
		watching.Wait()

		t.Logf("agents that were back, by second: %v", back)
		all := 0
		for at, n := range back {
			all += n
			if n > agents/2 {
				t.Errorf("%d of %d agents reconnected within the second after %s", n, agents, at)
			}
		}
		if all != agents {
			t.Errorf("%d of %d agents reconnected", all, agents)
		}
	})
}

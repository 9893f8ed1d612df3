package nodeagent_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/nodeagent/cluster"
	"github.com/fettle-dev/fettle/nodeagent/schedule"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

func startsAtOffset(_ *testing.T, m *machine) {
	m.spread = 20 * time.Second // the first run at the interval comes after 30 s
	place := schedule.Offset(m.name, m.spread)
	m.start()
	m.should(fileEntry("motd", "one\n"))
	m.soon("it has seen what is new, and told its facts", func(g Gomega) { g.Expect(m.object().Status.Facts).NotTo(BeNil()) })
	second := m.should(fileEntry("motd", "two\n"))
	m.clock.Step(place - time.Millisecond)
	m.Consistently(func(g Gomega) { g.Expect(m.runs.Load()).To(BeZero()) }).WithTimeout(500 * time.Millisecond).Should(Succeed())
	m.clock.Step(time.Millisecond)
	m.applied(second)
	m.Expect(m.file("motd").text()).To(Equal("two\n"))
	m.Expect(m.runs.Load()).To(BeEquivalentTo(1))
}

// TestWatchesReconnectGradually cuts the watches of many agents for as long as an API server takes to start.
func TestWatchesReconnectGradually(t *testing.T) {
	t.Parallel()

	const (
		agents = 60
		away   = 8 * time.Second
		window = time.Second
	)
	cfg, _ := controlplane.Start(t)
	door := newDoor(t, strings.Trim(strings.TrimPrefix(cfg.Host, "https:"), "/"))
	var mu sync.Mutex
	var watching sync.WaitGroup
	back := map[int]time.Time{} // when each agent received a response again
	shut, opened := false, time.Time{}
	ctx, cancel := context.WithCancel(t.Context())
	for i := range agents {
		own := rest.CopyConfig(cfg)
		own.Host = "https://" + door.address
		own.ServerName = "127.0.0.1"
		own.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				answer, err := next.RoundTrip(r)
				mu.Lock()
				defer mu.Unlock()
				if _, known := back[i]; err == nil && !known && !shut {
					back[i] = time.Now()
				}
				return answer, err
			})
		})
		agent, err := cluster.Connect(own, fmt.Sprintf("node-%d", i))
		must(t, err)
		watching.Go(func() { _ = agent.Watch(ctx, func(*v1alpha1.NodeCatalog) {}) })
	}
	defer watching.Wait()
	defer cancel()
	g := NewWithT(t)
	all := func() int { mu.Lock(); defer mu.Unlock(); return len(back) }
	g.Eventually(all).WithTimeout(limit).Should(Equal(agents))

	mu.Lock()
	shut = true
	clear(back)
	mu.Unlock()
	door.shut()
	wait := time.NewTimer(away)
	<-wait.C
	mu.Lock()
	shut, opened = false, time.Now()
	mu.Unlock()
	door.unlock()
	g.Eventually(all).WithTimeout(2 * limit).Should(Equal(agents))

	mu.Lock()
	defer mu.Unlock()
	inWindow := map[time.Duration]int{}
	for _, at := range back {
		inWindow[at.Sub(opened).Truncate(window)]++
	}
	t.Logf("agents that were back, by second: %v", inWindow)
	for at, n := range inWindow {
		if n > agents/2 {
			t.Errorf("%d of %d agents reconnected within the second after %s", n, agents, at)
		}
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

package nodeagent_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hanging blocks requests for the paths between calls of hang and release. Until then, they do not even end at their timeouts, so what
// happens meanwhile waits for none of them.
func (m *machine) hanging(paths ...string) (hang, release func()) {
	var shut atomic.Pointer[chan struct{}]
	m.cfg.WrapTransport = func(to http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			about := func(path string) bool { return strings.Contains(r.URL.Path, path) }
			if until := shut.Load(); until != nil && slices.ContainsFunc(paths, about) {
				<-*until
			}
			return to.RoundTrip(r)
		})
	}
	release = func() {
		if until := shut.Swap(nil); until != nil {
			close(*until)
		}
	}
	m.t.Cleanup(release) // before the agent is stopped
	return func() { shut.Store(new(make(chan struct{}))) }, release
}

func keepsHostWhileRequestsHang(t *testing.T, m *machine) {
	hang, release := m.hanging("/catalogs/", "/status")
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	hang()
	m.should(fileEntry("motd", "better\n"))
	for range 3 {
		m.file("motd").write("bad\n")
		m.Eventually(func(g Gomega) {
			m.clock.Step(time.Minute)
			g.Expect(m.file("motd").text()).To(Equal("good\n"))
		}).WithTimeout(limit).WithPolling(20*time.Millisecond).Should(Succeed(), "drift is corrected")
	}
	next := m.should(fileEntry("motd", "best\n"))
	release()
	m.passes("the newest catalog is applied", func(g Gomega) {
		g.Expect(m.object().Status.AppliedGeneration).To(Equal(next.Generation))
		g.Expect(m.object().Status.LastRun.Trigger).To(Equal(v1alpha1.TriggerChange))
	})
	m.Expect(m.file("motd").text()).To(Equal("best\n"))
}

package nodeagent_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

const (
	interval = 10 * time.Minute
	limit    = patient.Limit
)

// A fixture is an API server with an administrator.
type fixture struct {
	admin client.Client
	cfg   *rest.Config
}

func newFixture(t *testing.T, cfg *rest.Config) *fixture {
	t.Helper()
	controlplane.Install(t, cfg) // agents have exactly the permissions in config/
	return &fixture{admin: controlplane.Admin(t, cfg), cfg: cfg}
}

// A machine is a node: a directory as its host, an agent that can be started and stopped, and a door to the API
// server.
type machine struct {
	*WithT
	t       *testing.T
	w       *fixture
	name    string
	root    string
	clock   *clocktesting.FakeClock
	door    *door
	cfg     *rest.Config
	runs    atomic.Int32 // of everything
	partial atomic.Int32
	ran     func() // called by the agent after each run

	metrics *prometheus.Registry
	measure func(nodeagent.RunSummary)

	agent *nodeagent.Agent
	logs  locked.Buffer
	level slog.Level    // log level, Info by default
	limit time.Duration // time limit of a run; none by default
	luck  float64       // the agent's random number, 0.5 by default

	before, after []string // commands before and after a run

	unwatchable atomic.Bool // the host cannot be watched

	spread time.Duration

	keyAge time.Duration // when to replace the key; never by default
	stop   func()
}

// machine creates a Node and its host. It does not start the agent.
func (w *fixture) machine(t *testing.T) *machine {
	t.Helper()
	m := &machine{
		WithT: NewWithT(t), t: t, w: w, root: t.TempDir(), stop: func() {}, ran: func() {}, luck: 0.5, metrics: prometheus.NewRegistry(),
		name:  strings.ToLower(strings.NewReplacer("/", "-", "_", "-", ",", "").Replace(t.Name())),
		clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)),
	}
	m.name = strings.Trim(m.name[:min(len(m.name), 60)], "-")
	must(t, os.MkdirAll(filepath.Join(m.root, "etc"), 0o755))
	m.file("os-release").write("ID=debian\nVERSION_ID=12\n")
	m.door = newDoor(t, strings.Trim(strings.TrimPrefix(w.cfg.Host, "https:"), "/"))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.name}}
	must(t, w.admin.Create(t.Context(), node))
	token, err := controlplane.AgentToken(t.Context(), w.admin, node) // as for a pod on the node
	must(t, err)
	m.measure, err = nodeagent.Metrics(m.metrics)
	must(t, err)
	m.cfg = rest.AnonymousClientConfig(w.cfg)
	m.cfg.Host = "https://" + m.door.address
	m.cfg.BearerToken = token
	t.Cleanup(func() {
		m.stop()
		if t.Failed() {
			t.Logf("the agent logged:\n%s", m.logs.String())
		}
	})
	return m
}

// installDebian installs Debian on the machine.
func (m *machine) installDebian() {
	m.t.Helper()
	m.root = debian.Root(m.t)
	m.t.Cleanup(func() { m.stop() }) // before the root is removed
}

// start starts the agent. stop or the end of the test stops it.
func (m *machine) start() {
	m.t.Helper()
	h, err := linux.Open(linux.Options{Root: m.root})
	must(m.t, err)
	agent, err := nodeagent.New(nodeagent.Config{
		Node: m.name, Cluster: rest.CopyConfig(m.cfg), Host: limitedHost{h, &m.unwatchable}, Bucket: bucket.New(h, bucket.DefaultDir, bucket.DefaultLimit), Kinds: providers.Kinds(), StateDir: m.stateDir(), HostStateDir: state.DefaultDir,
		Interval: interval, Splay: time.Minute, Spread: m.spread, KeyAge: m.keyAge, Watch: true, Limit: m.limit, Before: m.before, After: m.after, Log: logger(&m.logs, m.level), Clock: m.clock, Random: func() float64 { return m.luck },
		Ran: func(s nodeagent.RunSummary) {
			m.measure(s)
			if s.Report.Partial {
				m.partial.Add(1)
			} else {
				m.runs.Add(1)
			}
			m.ran()
		},
	})
	must(m.t, err)
	m.agent = agent
	ctx, cancel := context.WithCancel(m.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	m.stop = sync.OnceFunc(func() {
		cancel()
		must(m.t, <-ended)
		must(m.t, h.Close())
	})
}

// A limitedHost has no watches left while its limit is reached.
type limitedHost struct {
	*linux.Host
	limited *atomic.Bool
}

// Watch implements [host.Watcher].
func (h limitedHost) Watch() (host.Watch, error) {
	if h.limited.Load() {
		return nil, errors.New("too many open files")
	}
	return h.Host.Watch()
}

func (m *machine) stateDir() string { return filepath.Join(m.root, "var/lib/fettle") }

// passes advances the clock until holds succeeds.
func (m *machine) passes(what string, holds func(g Gomega)) {
	m.t.Helper()
	m.Eventually(func(g Gomega) {
		m.clock.Step(interval)
		holds(g)
	}).WithTimeout(limit).WithPolling(20*time.Millisecond).Should(Succeed(), what)
}

// soon waits without advancing the clock.
func (m *machine) soon(what string, holds func(g Gomega)) {
	m.t.Helper()
	m.Eventually(holds).WithTimeout(limit).WithPolling(20*time.Millisecond).Should(Succeed(), what)
}

// should sets the machine's desired state to a catalog of these entries.
func (m *machine) should(entries ...v1alpha1.CatalogEntry) *v1alpha1.NodeCatalog {
	m.t.Helper()
	c := &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: catalog.Name(entries)}, Count: int32(len(entries)), Entries: entries}
	must(m.t, client.IgnoreAlreadyExists(m.w.admin.Create(m.t.Context(), c)))
	return m.spec(v1alpha1.NodeCatalogSpec{Catalogs: []v1alpha1.CatalogRef{{Name: c.Name}}})
}

// spec creates or updates the machine's NodeCatalog.
func (m *machine) spec(spec v1alpha1.NodeCatalogSpec) *v1alpha1.NodeCatalog {
	m.t.Helper()
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: m.name}, Spec: spec}
	err := m.w.admin.Create(m.t.Context(), nc)
	if client.IgnoreAlreadyExists(err) == nil && err != nil {
		before := m.object()
		nc = before.DeepCopy()
		nc.Spec = spec
		err = m.w.admin.Patch(m.t.Context(), nc, client.MergeFrom(before))
	}
	must(m.t, err)
	return nc
}

// object gets the machine's NodeCatalog from the API server.
func (m *machine) object() *v1alpha1.NodeCatalog {
	m.t.Helper()
	var nc v1alpha1.NodeCatalog
	must(m.t, m.w.admin.Get(m.t.Context(), client.ObjectKey{Name: m.name}, &nc))
	return &nc
}

// applied waits until the machine has applied the NodeCatalog.
func (m *machine) applied(nc *v1alpha1.NodeCatalog) *v1alpha1.NodeCatalog {
	m.t.Helper()
	m.soon("the generation is applied", func(g Gomega) {
		g.Expect(m.object().Status.AppliedGeneration).To(Equal(nc.Generation))
	})
	return m.object()
}

// file returns a file in the machine's /etc.
func (m *machine) file(name string) hostFile {
	return hostFile{m.t, filepath.Join(m.root, "etc", name)}
}

type hostFile struct {
	t    *testing.T
	path string
}

func (f hostFile) write(text string) {
	f.t.Helper()
	must(f.t, os.WriteFile(f.path, []byte(text), 0o644))
}

// replace writes as tools write files that others read meanwhile: nobody sees a part.
func (f hostFile) replace(text string) {
	f.t.Helper()
	must(f.t, os.WriteFile(f.path+"-", []byte(text), 0o644))
	must(f.t, os.Rename(f.path+"-", f.path))
}

func (f hostFile) remove() {
	f.t.Helper()
	must(f.t, os.Remove(f.path))
}

// text returns the content, or the error.
func (f hostFile) text() string {
	text, err := os.ReadFile(f.path)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return string(text)
}

// fileEntry returns an entry for a file in /etc.
func fileEntry(name, content string) v1alpha1.CatalogEntry {
	raw, _ := json.Marshal(map[string]string{"path": "/etc/" + name, "content": content})
	return v1alpha1.CatalogEntry{Kind: "File", Name: name, Attributes: &runtime.RawExtension{Raw: raw}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contentOf returns the displayed form of a content.
func contentOf(text string) string { return fmt.Sprintf("{sha256}%x", sha256.Sum256([]byte(text))) }

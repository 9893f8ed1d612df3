package secrets_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/controllers/caches"
	"github.com/fettle-dev/fettle/controllers/openreports"
	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/traces"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/seal"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

const (
	interval = 10 * time.Minute
	limit    = patient.Limit

	// marked occurs in every secret value and nowhere else.
	marked = "Marked-5ecret-Value"
)

// A fixture is a control plane with an administrator and sometimes a manager.
type fixture struct {
	*WithT
	t        *testing.T
	cfg      *rest.Config
	admin    client.Client
	readEtcd func(controlplane.T) map[string]string
	logs     locked.Buffer
	spans    *tracetest.SpanRecorder

	fleet       atomic.Pointer[controllers.Reconciler] // of the latest manager
	stopManager func()
}

func newFixture(t *testing.T, cfg *rest.Config, readEtcd func(controlplane.T) map[string]string) *fixture {
	t.Helper()
	f := &fixture{WithT: NewWithT(t), t: t, cfg: cfg, admin: controlplane.Admin(t, cfg), readEtcd: readEtcd, spans: tracetest.NewSpanRecorder()}
	controlplane.Install(t, cfg)
	return f
}

func logger(to *locked.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// secretValue returns a secret value.
func (f *fixture) secretValue(name string) string { return marked + " " + name }

// startManager runs a manager with the permissions of its service account. stopManager or the end of the test stops it.
func (f *fixture) startManager() {
	f.t.Helper()
	cfg := rest.CopyConfig(f.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:fettle-system:fettle-manager",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:fettle-system", "system:authenticated"},
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: f.admin.Scheme(), Cache: caches.Options(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, Logger: logr.FromSlogHandler(logger(&f.logs).Handler()),
	})
	must(f.t, err)
	fleet := controllers.New(controllers.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("fettle-manager"),
		Clock: clock.RealClock{}, Kinds: providers.Kinds(), LeaseDuration: heartbeat.DefaultLeaseDuration, Metrics: controllers.NewMetrics(nil),
		Traces: traces.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(f.spans)), clock.RealClock{}),
	})
	must(f.t, fleet.SetupWithManager(mgr))
	f.fleet.Store(fleet)
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	f.stopManager = sync.OnceFunc(func() {
		cancel()
		must(f.t, <-ended)
	})
	f.t.Cleanup(f.stopManager)
}

func (f *fixture) eventually(what string, holds func(g Gomega)) {
	f.t.Helper()
	f.Eventually(holds).WithTimeout(limit).WithPolling(50*time.Millisecond).Should(Succeed(), what)
}

func (f *fixture) nodeCatalog(node string) *v1alpha1.NodeCatalog {
	f.t.Helper()
	var nc v1alpha1.NodeCatalog
	must(f.t, client.IgnoreNotFound(f.admin.Get(f.t.Context(), client.ObjectKey{Name: node}, &nc)))
	return &nc
}

// readyCondition returns status and reason of a File's condition Ready.
func (f *fixture) readyCondition(file string) string {
	f.t.Helper()
	return f.readyConditionOf(&v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: file}})
}

func (f *fixture) readyConditionOf(r v1alpha1.Resource) string {
	f.t.Helper()
	must(f.t, f.admin.Get(f.t.Context(), client.ObjectKeyFromObject(r), r))
	if c := meta.FindStatusCondition(r.GetStatus().Conditions, v1alpha1.ConditionReady); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}

// writeOpenReports writes what Policy Reporter reads.
func (f *fixture) writeOpenReports() {
	f.t.Helper()
	admin := filepath.Join(f.t.TempDir(), "kubeconfig")
	must(f.t, controlplane.WriteKubeconfig(admin, f.cfg, ""))
	controlplane.DefineOpenReports(f.t, admin)
	p, err := openreports.New(openreports.Options{
		Config: f.cfg, Nodes: f.admin, Recorder: events.NewFakeRecorder(100), Clock: clock.RealClock{}, Log: logr.FromSlogHandler(logger(&f.logs).Handler()),
	})
	must(f.t, err)
	f.eventually("the reports are written", func(g Gomega) {
		p.Publish(f.t.Context())
		g.Expect(controlplane.Kubectl(f.t, admin, "get", "clusterreports", "-o", "yaml")).To(ContainSubstring("policy: File/nowhere"))
	})
}

// checkEtcd searches all of etcd: secret values must occur only in Secrets.
func (f *fixture) checkEtcd() {
	f.t.Helper()
	secrets := 0
	for key, value := range f.readEtcd(f.t) {
		switch {
		case !hasSecret(value):
		case strings.HasPrefix(key, "/registry/secrets/"):
			secrets++
		default:
			f.t.Errorf("%s contains a secret: %q", key, value)
		}
	}
	if secrets == 0 {
		f.t.Error("no Secret contains one: etcd was not searched")
	}
}

// checkOutput searches all output and files of the manager and the agents, which must contain no secret value.
func (f *fixture) checkOutput(machines ...*machine) {
	f.t.Helper()
	outputs := map[string]string{"the manager's log": f.logs.String(), "the spans": jsonOf(f.t, tracetest.SpanStubsFromReadOnlySpans(f.spans.Ended()))}
	for _, m := range machines {
		outputs["the log of the agent on "+m.name] = m.logs.String()
		maps.Copy(outputs, filesIn(f.t, m.stateDir()))
	}
	maps.Copy(outputs, f.pages())
	checkNoSecret(f.t, outputs)
}

// filesIn returns the regular files below a directory, by path.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var text []byte
			text, err = os.ReadFile(path)
			all[path] = string(text)
		}
		return err
	}))
	return all
}

func checkNoSecret(t *testing.T, outputs map[string]string) {
	t.Helper()
	for what, text := range outputs {
		if hasSecret(text) {
			t.Errorf("%s contains a secret", what)
			for line := range strings.Lines(text) {
				if hasSecret(line) {
					t.Logf("%q", line)
				}
			}
		}
		if text == "" {
			t.Errorf("%s is empty: nothing was searched", what)
		}
	}
}

// hasSecret finds a marked value in plain text or at any offset in base64.
func hasSecret(text string) bool {
	if strings.Contains(text, marked) {
		return true
	}
	for shift := range 3 {
		part := marked[shift : shift+(len(marked)-shift)/3*3]
		if strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(part))) {
			return true
		}
	}
	return false
}

// A machine is a node with a directory as its host.
type machine struct {
	*WithT
	f     *fixture
	name  string
	root  string
	cfg   *rest.Config
	clock *clocktesting.FakeClock
	logs  locked.Buffer
	stop  func()
}

func (f *fixture) newMachine(name, tier string) *machine {
	f.t.Helper()
	root := f.t.TempDir()
	must(f.t, os.MkdirAll(filepath.Join(root, "etc"), 0o755))
	must(f.t, os.WriteFile(filepath.Join(root, "etc/os-release"), []byte("ID=debian\nVERSION_ID=12\n"), 0o644))
	return f.newMachineIn(root, name, tier)
}

func (f *fixture) newMachineIn(root, name, tier string) *machine {
	f.t.Helper()
	m := &machine{WithT: f.WithT, f: f, name: name, root: root, stop: func() {}, clock: clocktesting.NewFakeClock(time.Now())}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{protected: tier, "role": tier}}}
	must(f.t, f.admin.Create(f.t.Context(), node))
	token, err := controlplane.AgentToken(f.t.Context(), f.admin, node)
	must(f.t, err)
	m.cfg = rest.AnonymousClientConfig(f.cfg)
	m.cfg.BearerToken = token
	f.t.Cleanup(func() {
		m.stop()
		if f.t.Failed() {
			f.t.Logf("the agent on %s logged:\n%s", name, m.logs.String())
		}
	})
	return m
}

// start starts the agent. stop or the end of the test stops it.
func (m *machine) start() {
	m.f.t.Helper()
	h, err := linux.Open(linux.Options{Root: m.root})
	must(m.f.t, err)
	agent, err := nodeagent.New(nodeagent.Config{
		Node: m.name, Cluster: rest.CopyConfig(m.cfg), Host: h, Bucket: bucket.New(h, bucket.DefaultDir, bucket.DefaultLimit), Kinds: providers.Kinds(), StateDir: m.stateDir(),
		Interval: interval, KeyAge: 90 * 24 * time.Hour, Watch: true, Log: logger(&m.logs), Clock: m.clock,
	})
	must(m.f.t, err)
	ctx, cancel := context.WithCancel(m.f.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	m.stop = sync.OnceFunc(func() {
		cancel()
		must(m.f.t, <-ended)
		must(m.f.t, h.Close())
	})
}

func (m *machine) stateDir() string { return filepath.Join(m.root, "var/lib/fettle") }

func (m *machine) stateFile(name string) string {
	text, err := os.ReadFile(filepath.Join(m.stateDir(), name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (m *machine) write(path, text string) {
	m.f.t.Helper()
	must(m.f.t, os.WriteFile(filepath.Join(m.root, path), []byte(text), 0o600))
}

// file returns the content of a file on the host.
func (m *machine) file(path string) string {
	m.f.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.root, path))
	must(m.f.t, err)
	return string(text)
}

// awaitContent waits until a file has a secret value.
func (m *machine) awaitContent(path, value string) {
	m.f.t.Helper()
	m.eventually(path+" has "+value, func(g Gomega) {
		text, err := os.ReadFile(filepath.Join(m.root, path))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(Equal(m.f.secretValue(value)))
	})
}

// eventually advances the agent's clock until a condition holds.
func (m *machine) eventually(what string, holds func(g Gomega)) {
	m.f.t.Helper()
	m.f.eventually(what, func(g Gomega) {
		m.clock.Step(interval)
		holds(g)
	})
}

// isSealedToItsKey reports whether all sealed values of the machine are sealed to its published key.
func (m *machine) isSealedToItsKey() bool {
	nc := m.f.nodeCatalog(m.name)
	values := 0
	for _, e := range nc.Spec.Entries {
		for _, s := range e.Sealed {
			if values++; s.Key != seal.Fingerprint(nc.Status.PublicKey) {
				return false
			}
		}
	}
	return values > 0
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return string(text)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

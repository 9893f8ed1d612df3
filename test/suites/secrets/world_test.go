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

// A world is a control plane with an administrator and sometimes a manager.
type world struct {
	*WithT
	t      *testing.T
	cfg    *rest.Config
	admin  client.Client
	stored func(controlplane.T) map[string]string
	logs   locked.Buffer
	spans  *tracetest.SpanRecorder

	fleet       atomic.Pointer[controllers.Fleet] // of the latest manager
	stopManager func()
}

func newWorld(t *testing.T, cfg *rest.Config, stored func(controlplane.T) map[string]string) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t, cfg: cfg, admin: controlplane.Admin(t, cfg), stored: stored, spans: tracetest.NewSpanRecorder()}
	controlplane.Install(t, cfg)
	return w
}

func logger(to *locked.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// value returns a secret value.
func (w *world) value(name string) string { return marked + " " + name }

// startManager runs a manager with the permissions of its service account. stopManager or the end of the test stops it.
func (w *world) startManager() {
	w.t.Helper()
	cfg := rest.CopyConfig(w.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:fettle-system:fettle-manager",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:fettle-system", "system:authenticated"},
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: w.admin.Scheme(), Cache: caches.Options(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, Logger: logr.FromSlogHandler(logger(&w.logs).Handler()),
	})
	must(w.t, err)
	fleet := controllers.New(controllers.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("fettle-manager"),
		Clock: clock.RealClock{}, Kinds: providers.Kinds(), LeaseDuration: heartbeat.DefaultLeaseDuration, Metrics: controllers.NewMetrics(nil),
		Traces: traces.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans)), clock.RealClock{}),
	})
	must(w.t, fleet.SetupWithManager(mgr))
	w.fleet.Store(fleet)
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.stopManager = sync.OnceFunc(func() {
		cancel()
		must(w.t, <-ended)
	})
	w.t.Cleanup(w.stopManager)
}

func (w *world) soon(what string, holds func(g Gomega)) {
	w.t.Helper()
	w.Eventually(holds).WithTimeout(limit).WithPolling(50*time.Millisecond).Should(Succeed(), what)
}

func (w *world) catalog(node string) *v1alpha1.NodeCatalog {
	w.t.Helper()
	var nc v1alpha1.NodeCatalog
	must(w.t, client.IgnoreNotFound(w.admin.Get(w.t.Context(), client.ObjectKey{Name: node}, &nc)))
	return &nc
}

// ready returns status and reason of a File's condition Ready.
func (w *world) ready(file string) string {
	w.t.Helper()
	return w.readyOf(&v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: file}})
}

func (w *world) readyOf(r v1alpha1.Resource) string {
	w.t.Helper()
	must(w.t, w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(r), r))
	if c := meta.FindStatusCondition(r.GetStatus().Conditions, v1alpha1.ConditionReady); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}

// writeOpenReports writes what Policy Reporter reads.
func (w *world) writeOpenReports() {
	w.t.Helper()
	admin := filepath.Join(w.t.TempDir(), "kubeconfig")
	must(w.t, controlplane.WriteKubeconfig(admin, w.cfg, ""))
	controlplane.DefineOpenReports(w.t, admin)
	p, err := openreports.New(openreports.Options{
		Config: w.cfg, Nodes: w.admin, Recorder: events.NewFakeRecorder(100), Clock: clock.RealClock{}, Log: logr.FromSlogHandler(logger(&w.logs).Handler()),
	})
	must(w.t, err)
	w.soon("the reports are written", func(g Gomega) {
		p.Publish(w.t.Context())
		g.Expect(controlplane.Kubectl(w.t, admin, "get", "clusterreports", "-o", "yaml")).To(ContainSubstring("policy: File/nowhere"))
	})
}

// isOnlyInSecrets searches all of etcd.
func (w *world) isOnlyInSecrets() {
	w.t.Helper()
	secrets := 0
	for key, value := range w.stored(w.t) {
		switch {
		case !hasSecret(value):
		case strings.HasPrefix(key, "/registry/secrets/"):
			secrets++
		default:
			w.t.Errorf("%s contains a secret: %q", key, value)
		}
	}
	if secrets == 0 {
		w.t.Error("no Secret contains one: etcd was not searched")
	}
}

// isToldNowhere searches all output and files of the manager and the agents.
func (w *world) isToldNowhere(machines ...*machine) {
	w.t.Helper()
	said := map[string]string{"the manager's log": w.logs.String(), "the spans": jsonOf(w.t, tracetest.SpanStubsFromReadOnlySpans(w.spans.Ended()))}
	for _, m := range machines {
		said["the log of the agent on "+m.name] = m.logs.String()
		maps.Copy(said, filesIn(w.t, m.stateDir()))
	}
	maps.Copy(said, w.pages())
	haveNoSecret(w.t, said)
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

func haveNoSecret(t *testing.T, said map[string]string) {
	t.Helper()
	for what, text := range said {
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
	w     *world
	name  string
	root  string
	cfg   *rest.Config
	clock *clocktesting.FakeClock
	logs  locked.Buffer
	stop  func()
}

func (w *world) machine(name, tier string) *machine {
	w.t.Helper()
	root := w.t.TempDir()
	must(w.t, os.MkdirAll(filepath.Join(root, "etc"), 0o755))
	must(w.t, os.WriteFile(filepath.Join(root, "etc/os-release"), []byte("ID=debian\nVERSION_ID=12\n"), 0o644))
	return w.machineIn(root, name, tier)
}

func (w *world) machineIn(root, name, tier string) *machine {
	w.t.Helper()
	m := &machine{WithT: w.WithT, w: w, name: name, root: root, stop: func() {}, clock: clocktesting.NewFakeClock(time.Now())}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{protected: tier, "role": tier}}}
	must(w.t, w.admin.Create(w.t.Context(), node))
	token, err := controlplane.AgentToken(w.t.Context(), w.admin, node)
	must(w.t, err)
	m.cfg = rest.AnonymousClientConfig(w.cfg)
	m.cfg.BearerToken = token
	w.t.Cleanup(func() {
		m.stop()
		if w.t.Failed() {
			w.t.Logf("the agent on %s logged:\n%s", name, m.logs.String())
		}
	})
	return m
}

// start starts the agent. stop or the end of the test stops it.
func (m *machine) start() {
	m.w.t.Helper()
	h, err := linux.Open(linux.Options{Root: m.root})
	must(m.w.t, err)
	agent, err := nodeagent.New(nodeagent.Config{
		Node: m.name, Cluster: rest.CopyConfig(m.cfg), Host: h, Bucket: bucket.New(h, bucket.DefaultDir, bucket.DefaultLimit), Kinds: providers.Kinds(), StateDir: m.stateDir(),
		Interval: interval, KeyAge: 90 * 24 * time.Hour, Watch: true, Log: logger(&m.logs), Clock: m.clock,
	})
	must(m.w.t, err)
	ctx, cancel := context.WithCancel(m.w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	m.stop = sync.OnceFunc(func() {
		cancel()
		must(m.w.t, <-ended)
		must(m.w.t, h.Close())
	})
}

func (m *machine) stateDir() string { return filepath.Join(m.root, "var/lib/fettle") }

func (m *machine) kept(name string) string {
	text, err := os.ReadFile(filepath.Join(m.stateDir(), name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (m *machine) write(path, text string) {
	m.w.t.Helper()
	must(m.w.t, os.WriteFile(filepath.Join(m.root, path), []byte(text), 0o600))
}

// file returns the content of a file on the host.
func (m *machine) file(path string) string {
	m.w.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.root, path))
	must(m.w.t, err)
	return string(text)
}

// has waits until a file has a secret value.
func (m *machine) has(path, value string) {
	m.w.t.Helper()
	m.passes(path+" has "+value, func(g Gomega) {
		text, err := os.ReadFile(filepath.Join(m.root, path))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(Equal(m.w.value(value)))
	})
}

// passes advances the agent's clock until a condition holds.
func (m *machine) passes(what string, holds func(g Gomega)) {
	m.w.t.Helper()
	m.w.soon(what, func(g Gomega) {
		m.clock.Step(interval)
		holds(g)
	})
}

// sealedToItsKey reports whether all values for the machine are sealed to its published key.
func (m *machine) sealedToItsKey() bool {
	nc := m.w.catalog(m.name)
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

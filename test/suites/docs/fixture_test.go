package docs_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/controllers/caches"
	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/nodequestions"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

const nodeName = "web-1"

// A cluster is a control plane with Fettle's objects.
type cluster struct {
	cfg        *rest.Config
	fleet      atomic.Pointer[controllers.Reconciler] // nil before there is a manager
	admin      client.Client
	kubeconfig string
	fettle     string // the program
	plugin     string // kubectl-fettle
	kubectl    string
	logs       *locked.Buffer
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	cfg := controlplane.StartAggregated(t)
	controlplane.Install(t, cfg)
	assets, err := controlplane.Assets()
	must(t, err)
	dir := t.TempDir()
	c := &cluster{
		cfg: cfg, admin: controlplane.Admin(t, cfg), logs: &locked.Buffer{},
		kubeconfig: filepath.Join(dir, "kubeconfig"), fettle: filepath.Join(dir, "fettle"), plugin: filepath.Join(dir, "kubectl-fettle"), kubectl: filepath.Join(assets, "kubectl"),
	}
	nodequestions.ServeHub(t, cfg, c.planBase)
	must(t, controlplane.WriteKubeconfig(c.kubeconfig, cfg, ""))
	program.Build(t, "fettle", c.fettle)
	program.Build(t, "kubectl-fettle", c.plugin)
	return c
}

// run runs a command of the test's own and returns its output.
func (c *cluster) run(t *testing.T, stdin string, command ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = checkout
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// startManager runs a manager with the permissions of its service account until the test ends.
func (c *cluster) startManager(t *testing.T) {
	t.Helper()
	cfg := rest.CopyConfig(c.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:fettle-system:fettle-manager",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:fettle-system", "system:authenticated"},
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: c.admin.Scheme(), Cache: caches.Options(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, Logger: logr.FromSlogHandler(c.logger().Handler()),
	})
	must(t, err)
	fleet := controllers.New(controllers.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("fettle-manager"),
		Clock: clock.RealClock{}, Kinds: providers.Kinds(), LeaseDuration: heartbeat.DefaultLeaseDuration, Metrics: controllers.NewMetrics(nil),
	})
	must(t, fleet.SetupWithManager(mgr))
	c.fleet.Store(fleet)
	inBackground(t, mgr.Start)
}

// planBase returns what plans are compared with.
func (c *cluster) planBase(ctx context.Context) (*planning.Base, error) {
	fleet := c.fleet.Load()
	if fleet == nil {
		return nil, controllers.ErrNotCompiled
	}
	return fleet.PlanBase(ctx)
}

func (c *cluster) logger() *slog.Logger { return slog.New(slog.NewTextHandler(c.logs, nil)) }

// inBackground runs a function until the test ends, and returns how to end it earlier.
func inBackground(t *testing.T, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		must(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}

// A machine is a Debian root that is the host of a Node, and on which the reader types the commands of a page.
type machine struct {
	c      *cluster
	root   string
	booted *debian.Machine   // nil if nothing runs on it but the commands of the page
	others map[string]string // the roots of other nodes, by name
	before int               // the size of the logs when it started
}

// logs returns what manager and agent have logged since the machine started.
func (m *machine) logs() string { return m.c.logs.String()[m.before:] }

// machine returns the machine of a page with an agent. It ends with the test, together with everything that its commands left
// in the cluster. If the page has packages, systemd runs on it, and apt can install them.
func (c *cluster) machine(t *testing.T, p page) *machine {
	t.Helper()
	m := &machine{c: c, before: len(c.logs.String()), others: map[string]string{}}
	if packages := p.words("packages"); len(packages) > 0 {
		m.boot(t, packages)
	} else {
		m.root = debian.Root(t)
		must(t, c.install(m.root))
		debian.Repository(t, m.root, debian.Deb{Name: "nginx-light"}, debian.Deb{Name: "htop"}, debian.Deb{Name: "chrony"})
	}
	agents := []func(){m.join(t, nodeName, m.root)}
	for _, name := range p.words("nodes") {
		m.others[name] = debian.Root(t)
		agents = append(agents, m.join(t, name, m.others[name]))
	}
	t.Cleanup(func() {
		c.cleanUp(t, agents, append(slices.Collect(maps.Keys(m.others)), nodeName))
	})
	return m
}

// join adds a Node with a root and starts its agent.
func (m *machine) join(t *testing.T, name, root string) (stopAgent func()) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/os": "linux"}}}
	must(t, m.c.admin.Create(t.Context(), node))
	m.c.awaitNodeCatalog(t, node)
	token, err := controlplane.AgentToken(t.Context(), m.c.admin, node)
	must(t, err)
	return m.startAgent(t, name, root, token)
}

// awaitNodeCatalog waits until the manager has created the NodeCatalog of a Node. The manager may have created another one
// for the Node of the page before while that was deleted. As the garbage collector of a cluster does, it is deleted here.
func (c *cluster) awaitNodeCatalog(t *testing.T, node *corev1.Node) {
	t.Helper()
	patient.Until(t, "the manager creates the NodeCatalog of the page's Node", func() bool {
		nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
		err := c.admin.Get(t.Context(), client.ObjectKeyFromObject(nc), nc)
		must(t, client.IgnoreNotFound(err))
		if err != nil {
			return false
		}
		if slices.ContainsFunc(nc.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == node.UID }) {
			return true
		}
		must(t, client.IgnoreNotFound(c.admin.Delete(t.Context(), nc)))
		return false
	})
}

func (m *machine) boot(t *testing.T, packages []string) {
	t.Helper()
	layer, err := debian.Layer{Offer: packages}.Build(t.Context(), os.Stderr)
	must(t, err)
	m.booted, err = debian.Start(t.Context(), debian.Spec{Hostname: nodeName, Layers: []string{layer}, Prepare: m.c.install}, os.Stderr)
	must(t, err)
	t.Cleanup(func() { must(t, m.booted.Stop()) })
	m.root = m.booted.Root()
}

// install puts the programs and the repository's manifests on a machine.
func (c *cluster) install(root string) error {
	for from, to := range map[string]string{c.fettle: "usr/local/bin/fettle", c.plugin: "usr/local/bin/kubectl-fettle", c.kubectl: "usr/local/bin/kubectl", c.kubeconfig: "root/.kube/config"} {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(root, to)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, to), content, 0o755)
		}
		if err != nil {
			return err
		}
	}
	for _, dir := range []string{"config", "charts", "examples"} {
		if err := os.CopyFS(filepath.Join(root, "root", dir), os.DirFS(filepath.Join(checkout, dir))); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "root/bin"), 0o755); err != nil {
		return err
	}
	return os.Symlink("/usr/local/bin/fettle", filepath.Join(root, "root/bin/fettle"))
}

func (m *machine) startAgent(t *testing.T, node, root, token string) (stop func()) {
	t.Helper()
	where := linux.Options{Root: root}
	if m.booted != nil && root == m.root {
		where = linux.Options{PID: m.booted.PID(), Transient: true}
	}
	h, err := linux.Open(where)
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	cfg := rest.AnonymousClientConfig(m.c.cfg)
	cfg.BearerToken = token
	agent, err := nodeagent.New(nodeagent.Config{
		Node: node, Cluster: cfg, Host: h, Bucket: bucket.New(h, bucket.DefaultDir, bucket.DefaultLimit), Kinds: providers.Kinds(),
		StateDir: filepath.Join(root, state.DefaultDir), HostStateDir: state.DefaultDir, Interval: nodeagent.DefaultInterval, KeyAge: nodeagent.DefaultKeyAge, Watch: true,
		Log: m.c.logger(), Clock: clock.RealClock{},
	})
	must(t, err)
	return inBackground(t, agent.Run)
}

// cleanUp deletes everything in the cluster that the commands of a page may have created. Policies go first, so that nothing waits for
// a rollout. The agents are stopped last, because deletion waits for them where a deletion policy says so.
func (c *cluster) cleanUp(t *testing.T, stopAgents []func(), nodes []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	must(t, c.admin.DeleteAllOf(ctx, &v1alpha1.RolloutPolicy{}))
	for _, k := range providers.Kinds() {
		must(t, c.admin.DeleteAllOf(ctx, object(k.Name())))
	}
	for _, k := range providers.Kinds() {
		must(t, c.awaitNone(ctx, object(k.Name())))
	}
	for _, stop := range stopAgents {
		stop()
	}
	for _, o := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &eventsv1.Event{}} {
		must(t, c.admin.DeleteAllOf(ctx, o, client.InNamespace("default")))
	}
	for _, name := range nodes {
		c.removeNode(ctx, t, name)
	}
}

func (c *cluster) removeNode(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	named := metav1.ObjectMeta{Name: name}
	must(t, c.admin.Delete(ctx, &corev1.Node{ObjectMeta: named}))
	must(t, client.IgnoreNotFound(c.admin.Delete(ctx, &v1alpha1.NodeCatalog{ObjectMeta: named})))
	must(t, client.IgnoreNotFound(c.admin.Delete(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: name}})))
}

func object(kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	return o
}

// awaitNone waits until there is no object of a kind.
func (c *cluster) awaitNone(ctx context.Context, o *unstructured.Unstructured) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(o.GroupVersionKind())
		err := c.admin.List(ctx, list)
		return len(list.Items) == 0, err
	})
}

// sh runs commands on a node, or where the reader works if node is empty, and returns their output and exit code. The reader works in
// the machine's root, but outside of its network.
func (m *machine) sh(ctx context.Context, t *testing.T, script, node string) (string, int) {
	t.Helper()
	shell := []string{"/bin/bash", "-euo", "pipefail", "-c", "cd /root; " + script}
	root, isOther := m.others[node]
	if !isOther {
		root = m.root
	}
	cmd := exec.CommandContext(ctx, "chroot", append([]string{root}, shell...)...)
	if m.booted != nil && node != "" && !isOther {
		cmd = m.booted.Command(ctx, shell...)
	}
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "KUBECONFIG=/root/.kube/config"}
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// Package simulated is a fleet for benchmarks: a real etcd and API server, the manager as users run it, and nodes whose agents are
// the real ones, in this process and on hosts that are always in sync.
package simulated

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/test/benchmarks/bench"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// parallel is how many requests are under way at once where this program makes them: as many as the manager's writers.
const parallel = 16

// managerQPS exceeds the capacity of an API server on a small machine, so that the benchmark does not measure the limit by
// which the manager spreads a change.
const managerQPS = 100_000

// Options describe the resources of a fleet and its manager.
type Options struct {
	Resources int    // one in ten of them is rendered for each node
	Groups    int    // how many targetings they have: the first selects every node, each other an equal share
	Manager   string // the program
}

// A Fleet is a cluster with a manager and nodes.
type Fleet struct {
	*bench.Stage
	Options
	Config *rest.Config // an administrator's
	Client client.Client
	Proxy  *Proxy // of the manager
	Nodes  []string

	dir     string
	manager *exec.Cmd
}

// New starts a control plane with nodes and resources. Neither the manager nor any agent runs yet.
func New(ctx context.Context, s *bench.Stage, o Options, nodes int) *Fleet {
	cfg, _ := controlplane.Start(s)
	cfg.QPS = -1
	controlplane.Install(s, cfg)
	f := &Fleet{Stage: s, Options: o, dir: s.TempDir(controlplane.Memory()), Config: cfg, Proxy: newProxy(s, cfg), Client: controlplane.Admin(s, cfg)}
	for i := range nodes {
		f.Nodes = append(f.Nodes, fmt.Sprintf("node-%04d", i))
	}
	f.populate(ctx)
	return f
}

// Group is the label of nodes that targetings use.
const Group = "group"

// group is the targeting of a node or a resource beside that of all.
func (f *Fleet) group(i int) string { return fmt.Sprint(1 + i%(f.Groups-1)) }

// Labels returns the labels of each node.
func (f *Fleet) Labels() map[string]map[string]string {
	all := map[string]map[string]string{}
	for i, name := range f.Nodes {
		all[name] = map[string]string{Group: f.group(i)}
	}
	return all
}

func (f *Fleet) populate(ctx context.Context) {
	labels := f.Labels()
	f.Each(len(f.Nodes), func(i int) error {
		return f.Client.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.Nodes[i], Labels: labels[f.Nodes[i]]}})
	})
	f.Each(f.Resources, func(i int) error { return f.Client.Create(ctx, f.file(i)) })
}

// file is a resource: every so many of them select all nodes, one in ten is rendered for each.
func (f *Fleet) file(i int) *v1alpha1.File {
	o := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("file-%03d", i)}}
	o.Spec.NodeSelector = &metav1.LabelSelector{}
	if i%f.Groups != 0 {
		o.Spec.NodeSelector.MatchLabels = map[string]string{Group: fmt.Sprint(i % f.Groups)}
	}
	o.Spec.Path, o.Spec.Mode = fmt.Sprintf("/etc/fleet/%03d", i), new("0644")
	if (i/f.Groups+i%f.Groups)%10 == 1 {
		o.Spec.ContentTemplate = new("{{ .node.name }} runs {{ .facts.os.name }}\n")
	} else {
		o.Spec.Content = new(strings.Repeat(fmt.Sprintf("line of file %03d\n", i), 60))
	}
	return o
}

// Each does something n times, several at a time; an error ends the stage.
func (f *Fleet) Each(n int, do func(int) error) {
	errs := make([]error, n)
	resource.Each(n, parallel, func(i int) { errs[i] = do(i) })
	for _, err := range errs {
		f.Must(err)
	}
}

// StartManager starts the program, with the rights that it has.
func (f *Fleet) StartManager(flags ...string) {
	kubeconfig := filepath.Join(f.dir, "kubeconfig")
	f.Must(controlplane.WriteKubeconfig(kubeconfig, f.Proxy.Config(), "system:serviceaccount:fettle-system:fettle-manager"))
	log, err := os.Create(filepath.Join(f.dir, "manager.log"))
	f.Must(err)
	f.manager = exec.Command(f.Manager, append(flags, "-kubeconfig", kubeconfig, "-metrics-bind-address", "0", "-health-probe-bind-address", "0",
		"-kube-api-qps", fmt.Sprint(managerQPS), "-kube-api-burst", fmt.Sprint(managerQPS))...)
	f.manager.Stdout, f.manager.Stderr = log, log
	f.Must(f.manager.Start())
	f.Cleanup(f.StopManager)
}

// StopManager ends it, and does nothing the second time.
func (f *Fleet) StopManager() {
	if f.manager == nil {
		return
	}
	_ = f.manager.Process.Signal(syscall.SIGTERM) // it may be gone
	_ = f.manager.Wait()
	f.manager = nil
}

// ManagerUsage is what the manager has used since its start.
func (f *Fleet) ManagerUsage() bench.Usage {
	usage, err := bench.UsageOf(f.manager.Process.Pid)
	f.Must(err)
	return usage
}

// Until waits until something holds.
func (f *Fleet) Until(ctx context.Context, what string, holds func() bool) {
	f.Stage.Until(ctx, what, 50*time.Millisecond, holds)
}

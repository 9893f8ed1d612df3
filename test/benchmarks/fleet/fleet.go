package main

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

// A fleet is a cluster with a manager and nodes.
type fleet struct {
	*bench.Stage
	options
	dir     string
	cfg     *rest.Config
	proxy   *proxy
	client  client.Client
	manager *exec.Cmd
	nodes   []string
}

func newFleet(s *bench.Stage, o options, nodes int) *fleet {
	cfg, _ := controlplane.Start(s)
	cfg.QPS = -1
	controlplane.Install(s, cfg)
	f := &fleet{Stage: s, options: o, dir: s.TempDir(controlplane.Memory()), cfg: cfg, proxy: newProxy(s, cfg), client: controlplane.Admin(s, cfg)}
	for i := range nodes {
		f.nodes = append(f.nodes, fmt.Sprintf("node-%04d", i))
	}
	return f
}

// group is the targeting of a node or a resource beside that of all.
func (f *fleet) group(i int) string { return fmt.Sprint(1 + i%(f.groups-1)) }

// populate makes nodes and resources.
func (f *fleet) populate(ctx context.Context) {
	f.each(len(f.nodes), func(i int) error {
		return f.client.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.nodes[i], Labels: map[string]string{"group": f.group(i)}}})
	})
	f.each(f.resources, func(i int) error { return f.client.Create(ctx, f.file(i)) })
}

// file is a resource: every so many of them select all nodes, one in ten is rendered for each.
func (f *fleet) file(i int) *v1alpha1.File {
	o := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("file-%03d", i)}}
	o.Spec.NodeSelector = &metav1.LabelSelector{}
	if i%f.groups != 0 {
		o.Spec.NodeSelector.MatchLabels = map[string]string{"group": fmt.Sprint(i % f.groups)}
	}
	o.Spec.Path, o.Spec.Mode = fmt.Sprintf("/etc/fleet/%03d", i), new("0644")
	if (i/f.groups+i%f.groups)%10 == 1 {
		o.Spec.ContentTemplate = new("{{ .node.name }} runs {{ .facts.os.name }}\n")
	} else {
		o.Spec.Content = new(strings.Repeat(fmt.Sprintf("line of file %03d\n", i), 60))
	}
	return o
}

// each does something n times, several at a time; an error ends the stage.
func (f *fleet) each(n int, do func(int) error) {
	errs := make([]error, n)
	resource.Each(n, parallel, func(i int) { errs[i] = do(i) })
	for _, err := range errs {
		f.Must(err)
	}
}

// startManager starts the program, with the rights that it has.
func (f *fleet) startManager(flags ...string) {
	kubeconfig := filepath.Join(f.dir, "kubeconfig")
	f.Must(controlplane.WriteKubeconfig(kubeconfig, f.proxy.config(), "system:serviceaccount:fettle-system:fettle-manager"))
	log, err := os.Create(filepath.Join(f.dir, "manager.log"))
	f.Must(err)
	f.manager = exec.Command(f.options.manager, append(flags, "-kubeconfig", kubeconfig, "-metrics-bind-address", "0", "-health-probe-bind-address", "0",
		"-kube-api-qps", fmt.Sprint(managerQPS), "-kube-api-burst", fmt.Sprint(managerQPS))...)
	f.manager.Stdout, f.manager.Stderr = log, log
	f.Must(f.manager.Start())
	f.Cleanup(f.stopManager)
}

// stopManager ends it, and does nothing the second time.
func (f *fleet) stopManager() {
	if f.manager == nil {
		return
	}
	_ = f.manager.Process.Signal(syscall.SIGTERM) // it may be gone
	_ = f.manager.Wait()
	f.manager = nil
}

// until waits until something holds.
func (f *fleet) until(ctx context.Context, what string, holds func() bool) {
	f.Until(ctx, what, 50*time.Millisecond, holds)
}

//go:build gitops

package gitops_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/nodes"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

const limit = patient.Limit // for each wait

// A world is a cluster with a manager, and with a node, web-1, whose host is a directory.
type world struct {
	*WithT
	t          *testing.T
	cfg        *rest.Config
	admin      client.Client
	kubeconfig string
	dir        string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	w := &world{WithT: NewWithT(t), t: t, cfg: cfg, admin: controlplane.Admin(t, cfg), dir: t.TempDir()}
	w.kubeconfig = filepath.Join(w.dir, "kubeconfig")
	must(t, controlplane.WriteKubeconfig(w.kubeconfig, cfg, ""))
	manager, own := filepath.Join(w.dir, "manager"), filepath.Join(w.dir, "manager.kubeconfig")
	program.Build(t, "manager", manager)
	must(t, controlplane.WriteKubeconfig(own, cfg, "system:serviceaccount:fettle-system:fettle-manager"))
	w.run(manager, "--kubeconfig="+own, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	w.node("web-1")
	nodes.Start(t.Context(), t, nodes.Options{Cluster: cfg, Dir: w.dir, Names: []string{"web-1"}, Complete: func(_ string, c *nodeagent.Config) {
		c.Kinds, c.Spread, c.Splay = providers.Kinds(), 0, 0
	}})
	return w
}

// build builds a program of Flux or Argo CD, unless it is cached, and installs its CRDs.
func (w *world) build(name string) (path string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "./build.sh", name)
	cmd.Stderr = os.Stderr // progress
	out, err := cmd.Output()
	must(w.t, err)
	dir := string(bytes.TrimSpace(out))
	w.kubectl("apply", "--server-side", "-f", filepath.Join(dir, "crd"))
	w.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout="+patient.Limit.String())
	return filepath.Join(dir, name)
}

// node creates a Node. Its agent is silent unless it is started.
func (w *world) node(name string) {
	w.t.Helper()
	must(w.t, w.admin.Create(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"role": "web"}}}))
}

// run starts a program that ends with the test.
func (w *world) run(path string, args ...string) {
	w.t.Helper()
	log := &locked.Buffer{}
	p := &controlplane.Process{Path: path, Args: args, Out: log, Err: log}
	must(w.t, p.Start())
	w.t.Cleanup(func() {
		p.Stop()
		if w.t.Failed() {
			w.t.Logf("%s logged:\n%s", filepath.Base(path), log.String())
		}
	})
}

func (w *world) kubectl(args ...string) string {
	w.t.Helper()
	return strings.TrimSpace(controlplane.Kubectl(w.t, w.kubeconfig, args...))
}

func (w *world) soon(what string, holds func(g Gomega)) {
	w.t.Helper()
	w.Eventually(holds).WithTimeout(limit).WithPolling(200*time.Millisecond).Should(Succeed(), what)
}

// host returns the content of a file on the host of web-1, or "" if there is none.
func (w *world) host(path string) string {
	text, err := os.ReadFile(filepath.Join(w.dir, "root", path))
	if err != nil {
		return ""
	}
	return string(text)
}

// exists reports whether there is a File.
func (w *world) exists(file string) bool {
	w.t.Helper()
	err := w.admin.Get(w.t.Context(), client.ObjectKey{Name: file}, &v1alpha1.File{})
	must(w.t, client.IgnoreNotFound(err))
	return err == nil
}

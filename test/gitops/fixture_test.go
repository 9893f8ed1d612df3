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

// A fixture is a cluster with a manager and a node, web-1, whose host is a directory.
type fixture struct {
	*WithT
	t          *testing.T
	cfg        *rest.Config
	admin      client.Client
	kubeconfig string
	dir        string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	f := &fixture{WithT: NewWithT(t), t: t, cfg: cfg, admin: controlplane.Admin(t, cfg), dir: t.TempDir()}
	f.kubeconfig = filepath.Join(f.dir, "kubeconfig")
	must(t, controlplane.WriteKubeconfig(f.kubeconfig, cfg, ""))
	manager, own := filepath.Join(f.dir, "manager"), filepath.Join(f.dir, "manager.kubeconfig")
	program.Build(t, "manager", manager)
	must(t, controlplane.WriteKubeconfig(own, cfg, "system:serviceaccount:fettle-system:fettle-manager"))
	f.startProgram(manager, "--kubeconfig="+own, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	f.createNode("web-1")
	nodes.Start(t.Context(), t, nodes.Options{Cluster: cfg, Dir: f.dir, Names: []string{"web-1"}, Complete: func(_ string, c *nodeagent.Config) {
		c.Kinds, c.Spread, c.Splay = providers.Kinds(), 0, 0
	}})
	return f
}

// build builds a program of Flux or Argo CD, unless it is cached, and installs its CRDs.
func (f *fixture) build(name string) (path string) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "./build.sh", name)
	cmd.Stderr = os.Stderr // progress
	out, err := cmd.Output()
	must(f.t, err)
	dir := string(bytes.TrimSpace(out))
	f.kubectl("apply", "--server-side", "-f", filepath.Join(dir, "crd"))
	f.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout="+patient.Limit.String())
	return filepath.Join(dir, name)
}

// createNode creates a Node. Its agent is silent unless it is started.
func (f *fixture) createNode(name string) {
	f.t.Helper()
	must(f.t, f.admin.Create(f.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"role": "web"}}}))
}

// startProgram starts a program that ends with the test.
func (f *fixture) startProgram(path string, args ...string) {
	f.t.Helper()
	log := &locked.Buffer{}
	p := &controlplane.Process{Path: path, Args: args, Out: log, Err: log}
	must(f.t, p.Start())
	f.t.Cleanup(func() {
		p.Stop()
		if f.t.Failed() {
			f.t.Logf("%s logged:\n%s", filepath.Base(path), log.String())
		}
	})
}

func (f *fixture) kubectl(args ...string) string {
	f.t.Helper()
	return strings.TrimSpace(controlplane.Kubectl(f.t, f.kubeconfig, args...))
}

func (f *fixture) eventually(what string, holds func(g Gomega)) {
	f.t.Helper()
	f.Eventually(holds).WithTimeout(limit).WithPolling(200*time.Millisecond).Should(Succeed(), what)
}

// hostFile returns the content of a file on the host of web-1, or "" if there is none.
func (f *fixture) hostFile(path string) string {
	text, err := os.ReadFile(filepath.Join(f.dir, "root", path))
	if err != nil {
		return ""
	}
	return string(text)
}

// fileExists reports whether there is a File.
func (f *fixture) fileExists(file string) bool {
	f.t.Helper()
	err := f.admin.Get(f.t.Context(), client.ObjectKey{Name: file}, &v1alpha1.File{})
	must(f.t, client.IgnoreNotFound(err))
	return err == nil
}

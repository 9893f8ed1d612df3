//go:build rare

package skew_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

const (
	node  = "web-1"
	limit = patient.Limit
	// protected is a label that kubelets may not set; secrets require one.
	protected = "node-restriction.kubernetes.io/tier"
)

// A fixture is a control plane, a manager, and a node with its agent and host. Their versions are exchanged one by one.
type fixture struct {
	*WithT
	t          *testing.T
	cfg        *rest.Config
	admin      client.Client
	kubeconfig string // the administrator's
	root       string // of the host

	manager, agent *controlplane.Process
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	cfg := controlplane.StartEmpty(t, nil)
	f := &fixture{WithT: NewWithT(t), t: t, cfg: cfg, root: debian.Root(t), kubeconfig: filepath.Join(t.TempDir(), "admin")}
	must(t, controlplane.WriteKubeconfig(f.kubeconfig, cfg, ""))
	f.admin = controlplane.Admin(t, cfg)
	must(t, f.admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{protected: "web"}}}))
	must(t, f.admin.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "password", Labels: map[string]string{v1alpha1.LabelExposeToNodes: "true"}},
		StringData: map[string]string{"value": "sealed\n"},
	}))
	return f
}

// install applies what config/default of a version contains besides the programs. Fields that this version lacks are removed.
func (f *fixture) install(v version) {
	f.t.Helper()
	args := []string{"apply", "--server-side", "--force-conflicts", "-f", v.config("default/namespace.yaml")}
	for _, folder := range []string{"crd", "rbac", "policy", "flowcontrol"} {
		args = append(args, "-f", v.config(folder))
	}
	controlplane.Kubectl(f.t, f.kubeconfig, args...)
	controlplane.Kubectl(f.t, f.kubeconfig, "wait", "--for=condition=Established", "crd", "--all", "--timeout="+limit.String())
}

// startManager replaces the manager by the one of a version, with the permissions of its service account.
func (f *fixture) startManager(v version) {
	f.t.Helper()
	if f.manager != nil {
		f.manager.Stop()
	}
	file := filepath.Join(f.t.TempDir(), "manager")
	must(f.t, controlplane.WriteKubeconfig(file, f.cfg, "system:serviceaccount:fettle-system:fettle-manager"))
	f.manager = f.startProgram("manager", v.manager(), "--kubeconfig="+file, "--metrics-bind-address=0", "--health-probe-bind-address=0")
}

// startAgent replaces the agent by the one of a version. The host and the state of the agent stay.
func (f *fixture) startAgent(v version) {
	f.t.Helper()
	if f.agent != nil {
		f.agent.Stop()
	}
	bound := &corev1.Node{}
	must(f.t, f.admin.Get(f.t.Context(), client.ObjectKey{Name: node}, bound))
	token, err := controlplane.AgentToken(f.t.Context(), f.admin, bound)
	must(f.t, err)
	cfg := rest.AnonymousClientConfig(f.cfg)
	cfg.BearerToken = token
	file := filepath.Join(f.t.TempDir(), "agent")
	must(f.t, controlplane.WriteKubeconfig(file, cfg, ""))
	f.agent = f.startProgram("agent", v.agent(), "--kubeconfig="+file, "--node-name="+node, "--root="+f.root, "--splay=0s", "--spread=0s")
}

// startProgram starts a program that ends with the test.
func (f *fixture) startProgram(name, path string, args ...string) *controlplane.Process {
	f.t.Helper()
	log := &locked.Buffer{}
	p := &controlplane.Process{Path: path, Args: args, Err: log}
	must(f.t, p.Start())
	f.t.Cleanup(func() {
		p.Stop()
		if f.t.Failed() {
			f.t.Logf("%s logged:\n%s", name, log.String())
		}
	})
	return p
}

// awaitReady waits until the status of a resource describes its generation, and Ready is True.
func (f *fixture) awaitReady(o v1alpha1.Resource) {
	f.t.Helper()
	f.eventually(o.KindName()+"/"+o.GetName()+" is ready", func(g Gomega) {
		g.Expect(f.admin.Get(f.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
		s := o.GetStatus()
		g.Expect(s.ObservedGeneration).To(Equal(o.GetGeneration()))
		c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
		g.Expect(c).NotTo(BeNil())
		g.Expect(string(c.Status)+" "+c.Reason).To(Equal("True InSync"), c.Message)
		g.Expect(s.Nodes.Selected).To(BeEquivalentTo(1))
		g.Expect(s.Nodes.InSync).To(BeEquivalentTo(1))
	})
}

func (f *fixture) eventually(what string, holds func(g Gomega)) {
	f.t.Helper()
	f.Eventually(holds).WithTimeout(limit).WithPolling(50*time.Millisecond).Should(Succeed(), what)
}

// hostFile returns the content of a file on the host, or "" if there is none.
func (f *fixture) hostFile(path string) string {
	text, err := os.ReadFile(filepath.Join(f.root, path))
	if err != nil {
		return ""
	}
	return string(text)
}

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

// A world is a control plane, a manager, and a node with its agent and host. Their versions are exchanged one by one.
type world struct {
	*WithT
	t          *testing.T
	cfg        *rest.Config
	admin      client.Client
	kubeconfig string // the administrator's
	root       string // of the host

	manager, agent *controlplane.Process
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cfg := controlplane.StartEmpty(t, nil)
	w := &world{WithT: NewWithT(t), t: t, cfg: cfg, root: debian.Root(t), kubeconfig: filepath.Join(t.TempDir(), "admin")}
	must(t, controlplane.WriteKubeconfig(w.kubeconfig, cfg, ""))
	w.admin = controlplane.Admin(t, cfg)
	must(t, w.admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{protected: "web"}}}))
	must(t, w.admin.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "password", Labels: map[string]string{v1alpha1.LabelExposeToNodes: "true"}},
		StringData: map[string]string{"value": "sealed\n"},
	}))
	return w
}

// install applies what config/default of a version contains besides the programs. Fields that this version lacks are removed.
func (w *world) install(v version) {
	w.t.Helper()
	args := []string{"apply", "--server-side", "--force-conflicts", "-f", v.config("default/namespace.yaml")}
	for _, folder := range []string{"crd", "rbac", "policy", "flowcontrol"} {
		args = append(args, "-f", v.config(folder))
	}
	controlplane.Kubectl(w.t, w.kubeconfig, args...)
	controlplane.Kubectl(w.t, w.kubeconfig, "wait", "--for=condition=Established", "crd", "--all", "--timeout="+limit.String())
}

// startManager replaces the manager by that of a version, with the permissions of its service account.
func (w *world) startManager(v version) {
	w.t.Helper()
	if w.manager != nil {
		w.manager.Stop()
	}
	file := filepath.Join(w.t.TempDir(), "manager")
	must(w.t, controlplane.WriteKubeconfig(file, w.cfg, "system:serviceaccount:fettle-system:fettle-manager"))
	w.manager = w.run("manager", v.manager(), "--kubeconfig="+file, "--metrics-bind-address=0", "--health-probe-bind-address=0")
}

// startAgent replaces the agent by that of a version. The host and the state of the agent stay.
func (w *world) startAgent(v version) {
	w.t.Helper()
	if w.agent != nil {
		w.agent.Stop()
	}
	bound := &corev1.Node{}
	must(w.t, w.admin.Get(w.t.Context(), client.ObjectKey{Name: node}, bound))
	token, err := controlplane.AgentToken(w.t.Context(), w.admin, bound)
	must(w.t, err)
	cfg := rest.AnonymousClientConfig(w.cfg)
	cfg.BearerToken = token
	file := filepath.Join(w.t.TempDir(), "agent")
	must(w.t, controlplane.WriteKubeconfig(file, cfg, ""))
	w.agent = w.run("agent", v.agent(), "--kubeconfig="+file, "--node-name="+node, "--root="+w.root, "--splay=0s", "--spread=0s")
}

// run starts a program that ends with the test.
func (w *world) run(name, path string, args ...string) *controlplane.Process {
	w.t.Helper()
	log := &locked.Buffer{}
	p := &controlplane.Process{Path: path, Args: args, Err: log}
	must(w.t, p.Start())
	w.t.Cleanup(func() {
		p.Stop()
		if w.t.Failed() {
			w.t.Logf("%s logged:\n%s", name, log.String())
		}
	})
	return p
}

// ready waits until the status of a resource describes its generation, and Ready is True.
func (w *world) ready(o v1alpha1.Resource) {
	w.t.Helper()
	w.soon(o.KindName()+"/"+o.GetName()+" is ready", func(g Gomega) {
		g.Expect(w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
		s := o.GetStatus()
		g.Expect(s.ObservedGeneration).To(Equal(o.GetGeneration()))
		c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
		g.Expect(c).NotTo(BeNil())
		g.Expect(string(c.Status)+" "+c.Reason).To(Equal("True InSync"), c.Message)
		g.Expect(s.Nodes.Selected).To(BeEquivalentTo(1))
		g.Expect(s.Nodes.InSync).To(BeEquivalentTo(1))
	})
}

func (w *world) soon(what string, holds func(g Gomega)) {
	w.t.Helper()
	w.Eventually(holds).WithTimeout(limit).WithPolling(50*time.Millisecond).Should(Succeed(), what)
}

// host returns the content of a file on the host, or "" if there is none.
func (w *world) host(path string) string {
	text, err := os.ReadFile(filepath.Join(w.root, path))
	if err != nil {
		return ""
	}
	return string(text)
}

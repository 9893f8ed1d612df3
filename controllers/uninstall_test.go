package controllers_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

const soon = patient.Limit

// A site is a cluster of its own with a manager, from which a test can remove anything.
type site struct {
	*WithT
	client.Client
	cfg     *rest.Config // an administrator's
	kubectl func(args ...string)
	asked   *requests
}

func newSite(t *testing.T) site {
	t.Helper()
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	s := site{WithT: NewWithT(t), Client: controlplane.Admin(t, cfg), cfg: cfg, asked: &requests{}}
	admin := filepath.Join(t.TempDir(), "kubeconfig")
	s.Expect(controlplane.WriteKubeconfig(admin, cfg, "")).To(Succeed())
	s.kubectl = func(args ...string) {
		t.Helper()
		controlplane.Kubectl(t, admin, append(args, "--timeout="+patient.Limit.String())...)
	}
	mgr := newManager(s.WithT, asIn(cfg, "fettle-manager"), s.Scheme(), s.asked, false)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	return s
}

// settles waits until a node has a number of Catalogs, reports them as applied, and returns the spec.
func (s site) settles(ctx context.Context, node string, lists int) v1alpha1.NodeCatalogSpec {
	var nc v1alpha1.NodeCatalog
	s.Eventually(ctx, func() int {
		_ = s.Get(ctx, client.ObjectKey{Name: node}, &nc)
		return len(nc.Spec.Catalogs)
	}).WithTimeout(soon).Should(Equal(lists))
	nc.Status.AppliedGeneration, nc.Status.AppliedDigest, nc.Status.AgentVersion = nc.Generation, catalog.Digest(nc.Spec), "test"
	s.Expect(s.Client.Status().Update(ctx, &nc)).To(Succeed())
	return nc.Spec
}

// readMessages returns the writes to NodeCatalogs so far.
func (s site) readMessages() []string {
	return slices.DeleteFunc(s.asked.whole("/nodecatalogs"), func(r string) bool { return strings.HasPrefix(r, "GET ") })
}

func TestUninstallingOneByOneLeavesNodesAsTheyAre(t *testing.T) {
	t.Parallel()

	s, ctx := newSite(t), t.Context()
	ann := user("ann")
	ann.Spec.DeletionPolicy = v1alpha1.DeletionDelete
	waits := file("waits", "/waits", on("web"), deleted)
	for _, o := range []client.Object{
		node("n1", "web"), node("n2", "db"), ann, waits,
		file("a", "/a", deleted), file("b", "/b"), file("c", "/c", on("web")),
	} {
		s.Expect(s.Create(ctx, o)).To(Succeed())
	}
	for name, lists := range map[string]int{"n1": 2, "n2": 1} {
		s.settles(ctx, name, lists)
	}
	for _, o := range []client.Object{ann, waits} {
		s.Eventually(ctx, func() []string {
			s.Expect(s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			return o.GetFinalizers()
		}).WithTimeout(soon).Should(ConsistOf(cleanup))
		s.Expect(s.Delete(ctx, o)).To(Succeed())
	}
	s.Eventually(ctx, s.readMessages).WithTimeout(soon).Should(ContainElement("PATCH /apis/fettle.dev/v1alpha1/nodecatalogs/n2"))
	s.Expect(s.asked.rest(ctx, s.Client)).To(Succeed())
	s.Expect(s.Get(ctx, client.ObjectKeyFromObject(ann), ann)).To(Succeed())
	told := len(s.readMessages())

	// A kind of which only deletions that wait for nodes are left.
	s.kubectl("delete", "crd", "users.fettle.dev")
	s.Expect(s.readMessages()[told:]).To(BeEmpty())

	// A kind of which nodes have resources.
	s.kubectl("delete", "crd", "files.fettle.dev")
	s.Consistently(ctx, func() []string { return s.readMessages()[told:] }).WithTimeout(2 * time.Second).Should(BeEmpty())
	for name, lists := range map[string]int{"n1": 2, "n2": 1} {
		var nc v1alpha1.NodeCatalog
		s.Expect(s.Get(ctx, client.ObjectKey{Name: name}, &nc)).To(Succeed())
		s.Expect(nc.Spec.Catalogs).To(HaveLen(lists))
	}

	// Nodes that join and change meanwhile.
	s.Expect(s.Create(ctx, node("n3", "web"))).To(Succeed())
	s.Expect(s.Patch(ctx, node("n1", ""), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"role":"db"}}}`)))).To(Succeed())
	s.Consistently(ctx, func() []string { return s.readMessages()[told:] }).WithTimeout(2 * time.Second).Should(BeEmpty())

	// The other kinds.
	s.kubectl("delete", "-k", "../config/crd", "--ignore-not-found")
	s.Consistently(ctx, func() []string { return s.readMessages()[told:] }).WithTimeout(2 * time.Second).Should(BeEmpty())
	var nodes corev1.NodeList
	s.Expect(s.List(ctx, &nodes)).To(Succeed())
	s.Expect(nodes.Items).To(HaveLen(3))
}

func TestUninstallingAtOnceLeavesNodesAsTheyAre(t *testing.T) {
	t.Parallel()

	s, ctx := newSite(t), t.Context()
	for _, o := range []client.Object{node("n1", "web"), node("n2", "db"), file("a", "/a", deleted), file("b", "/b"), file("c", "/c", on("web"), deleted)} {
		s.Expect(s.Create(ctx, o)).To(Succeed())
	}
	for name, lists := range map[string]int{"n1": 2, "n2": 1} {
		s.settles(ctx, name, lists)
	}
	s.Expect(s.asked.rest(ctx, s.Client)).To(Succeed())
	told := len(s.readMessages())
	s.kubectl("delete", "-k", "../config/crd")
	s.Consistently(ctx, func() []string { return s.readMessages()[told:] }).WithTimeout(2 * time.Second).Should(BeEmpty())
}

func TestDocumentedCommandRemovesFinalizersWithoutAManager(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	admin, g, ctx := controlplane.Admin(t, cfg), NewWithT(t), t.Context()
	f, ann := file("a", "/a", deleted), user("ann")
	for _, o := range []client.Object{f, ann} {
		o.SetFinalizers([]string{cleanup})
		g.Expect(admin.Create(ctx, o)).To(Succeed())
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(controlplane.WriteKubeconfig(kubeconfig, cfg, "")).To(Succeed())
	parts := []string{"clusterrole/fettle-manager-kinds", "clusterrolebinding/fettle-manager-kinds", "role/fettle-manager", "rolebinding/fettle-manager"}
	for _, part := range parts {
		controlplane.Kubectl(t, kubeconfig, "patch", part, "--namespace=default", "--type=merge", `-p={"metadata":{"finalizers":["fettle.dev/uninstall"]}}`)
	}
	controlplane.Kubectl(t, kubeconfig, "patch", "serviceaccount/fettle-manager", "--namespace=fettle-system", "--type=merge", `-p={"metadata":{"finalizers":["fettle.dev/uninstall"]}}`)
	controlplane.Kubectl(t, kubeconfig, "delete", "-k", "../config/crd", "--wait=false")
	controlplane.Kubectl(t, kubeconfig, "delete", "-k", "../config/rbac", "--wait=false")

	doc, err := os.ReadFile("../docs/deletion.md")
	g.Expect(err).NotTo(HaveOccurred())
	from := strings.Index(string(doc), "for r in $(kubectl api-resources")
	script, _, _ := strings.Cut(string(doc)[from:], "```")
	assets, err := controlplane.Assets()
	g.Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+assets+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	controlplane.Kubectl(t, kubeconfig, append([]string{"wait", "--for=delete", "crd/files.fettle.dev", "crd/users.fettle.dev", "--namespace=default", "--timeout=" + patient.Limit.String()}, parts...)...)
	controlplane.Kubectl(t, kubeconfig, "wait", "--for=delete", "serviceaccount/fettle-manager", "--namespace=fettle-system", "--timeout="+patient.Limit.String())
}

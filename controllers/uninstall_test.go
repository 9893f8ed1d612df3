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

const limit = patient.Limit

// A cluster is a cluster with a manager that only one test uses, so that the test can remove anything from it.
type cluster struct {
	*WithT
	client.Client
	cfg      *rest.Config // an administrator's
	kubectl  func(args ...string)
	requests *requests
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	c := cluster{WithT: NewWithT(t), Client: controlplane.Admin(t, cfg), cfg: cfg, requests: &requests{}}
	admin := filepath.Join(t.TempDir(), "kubeconfig")
	c.Expect(controlplane.WriteKubeconfig(admin, cfg, "")).To(Succeed())
	c.kubectl = func(args ...string) {
		t.Helper()
		controlplane.Kubectl(t, admin, append(args, "--timeout="+patient.Limit.String())...)
	}
	mgr := newManager(c.WithT, impersonatingIn(cfg, "fettle-manager"), c.Scheme(), c.requests, false)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	return c
}

// awaitCatalogs waits until a node has a number of Catalogs, reports them as applied, and returns the spec.
func (c cluster) awaitCatalogs(ctx context.Context, node string, lists int) v1alpha1.NodeCatalogSpec {
	var nc v1alpha1.NodeCatalog
	c.Eventually(ctx, func() int {
		_ = c.Get(ctx, client.ObjectKey{Name: node}, &nc)
		return len(nc.Spec.Catalogs)
	}).WithTimeout(limit).Should(Equal(lists))
	nc.Status.AppliedGeneration, nc.Status.AppliedDigest, nc.Status.AgentVersion = nc.Generation, catalog.Digest(nc.Spec), "test"
	c.Expect(c.Client.Status().Update(ctx, &nc)).To(Succeed())
	return nc.Spec
}

// nodeCatalogWrites returns the requests that have written NodeCatalogs.
func (c cluster) nodeCatalogWrites() []string {
	return slices.DeleteFunc(c.requests.matching("/nodecatalogs"), func(r string) bool { return strings.HasPrefix(r, "GET ") })
}

func TestUninstallingOneByOneLeavesNodesAsTheyAre(t *testing.T) {
	t.Parallel()

	c, ctx := newCluster(t), t.Context()
	ann := user("ann")
	ann.Spec.DeletionPolicy = v1alpha1.DeletionDelete
	waits := file("waits", "/waits", on("web"), withDeletion)
	for _, o := range []client.Object{
		node("n1", "web"), node("n2", "db"), ann, waits,
		file("a", "/a", withDeletion), file("b", "/b"), file("c", "/c", on("web")),
	} {
		c.Expect(c.Create(ctx, o)).To(Succeed())
	}
	for name, lists := range map[string]int{"n1": 2, "n2": 1} {
		c.awaitCatalogs(ctx, name, lists)
	}
	for _, o := range []client.Object{ann, waits} {
		c.Eventually(ctx, func() []string {
			c.Expect(c.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			return o.GetFinalizers()
		}).WithTimeout(limit).Should(ConsistOf(cleanupFinalizer))
		c.Expect(c.Delete(ctx, o)).To(Succeed())
	}
	c.Eventually(ctx, c.nodeCatalogWrites).WithTimeout(limit).Should(ContainElement("PATCH /apis/fettle.dev/v1alpha1/nodecatalogs/n2"))
	c.Expect(c.requests.awaitQuiet(ctx, c.Client)).To(Succeed())
	c.Expect(c.Get(ctx, client.ObjectKeyFromObject(ann), ann)).To(Succeed())
	before := len(c.nodeCatalogWrites())

	// The only objects of this kind are being deleted, and wait for nodes.
	c.kubectl("delete", "crd", "users.fettle.dev")
	c.Expect(c.nodeCatalogWrites()[before:]).To(BeEmpty())

	// Nodes have resources of this kind.
	c.kubectl("delete", "crd", "files.fettle.dev")
	c.Consistently(ctx, func() []string { return c.nodeCatalogWrites()[before:] }).WithTimeout(2 * time.Second).Should(BeEmpty())
	for name, lists := range map[string]int{"n1": 2, "n2": 1} {
		var nc v1alpha1.NodeCatalog
		c.Expect(c.Get(ctx, client.ObjectKey{Name: name}, &nc)).To(Succeed())
		c.Expect(nc.Spec.Catalogs).To(HaveLen(lists))
	}

	// Nodes that join and change meanwhile.
	c.Expect(c.Create(ctx, node("n3", "web"))).To(Succeed())
	c.Expect(c.Patch(ctx, node("n1", ""), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"role":"db"}}}`)))).To(Succeed())
	c.Consistently(ctx, func() []string { return c.nodeCatalogWrites()[before:] }).WithTimeout(2 * time.Second).Should(BeEmpty())

	// The other kinds.
	c.kubectl("delete", "-k", "../config/crd", "--ignore-not-found")
	c.Consistently(ctx, func() []string { return c.nodeCatalogWrites()[before:] }).WithTimeout(2 * time.Second).Should(BeEmpty())
	var nodes corev1.NodeList
	c.Expect(c.List(ctx, &nodes)).To(Succeed())
	c.Expect(nodes.Items).To(HaveLen(3))
}

func TestUninstallingAtOnceLeavesNodesAsTheyAre(t *testing.T) {
	t.Parallel()

	c, ctx := newCluster(t), t.Context()
	for _, o := range []client.Object{node("n1", "web"), node("n2", "db"), file("a", "/a", withDeletion), file("b", "/b"), file("c", "/c", on("web"), withDeletion)} {
		c.Expect(c.Create(ctx, o)).To(Succeed())
	}
	for name, lists := range map[string]int{"n1": 2, "n2": 1} {
		c.awaitCatalogs(ctx, name, lists)
	}
	c.Expect(c.requests.awaitQuiet(ctx, c.Client)).To(Succeed())
	before := len(c.nodeCatalogWrites())
	c.kubectl("delete", "-k", "../config/crd")
	c.Consistently(ctx, func() []string { return c.nodeCatalogWrites()[before:] }).WithTimeout(2 * time.Second).Should(BeEmpty())
}

func TestDocumentedCommandRemovesFinalizersWithoutAManager(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	admin, g, ctx := controlplane.Admin(t, cfg), NewWithT(t), t.Context()
	f, ann := file("a", "/a", withDeletion), user("ann")
	for _, o := range []client.Object{f, ann} {
		o.SetFinalizers([]string{cleanupFinalizer})
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

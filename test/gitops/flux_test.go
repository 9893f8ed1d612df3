//go:build gitops

package gitops_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/test/fixtures/freeport"
)

// broken fails on the host: a directory of its path is a file.
const broken = `apiVersion: fettle.dev/v1alpha1
kind: File
metadata: {name: broken}
spec: {nodeSelector: {}, path: /etc/os-release/broken, content: "broken"}
`

func TestFluxAppliesWaitsOrdersAndPrunes(t *testing.T) {
	f := newFixture(t)
	r := newRepository(t)
	flux := startFlux(f, r)

	r.write("nodes/base/broken.yaml", broken)
	flux.publish(r.commit())
	flux.kubernetesApply("flux/nodes.yaml")
	f.eventually("the failed resource fails the Kustomization", func(g Gomega) {
		g.Expect(flux.readyCondition("base")).To(And(HavePrefix("False HealthCheckFailed"), ContainSubstring("File/broken")))
	})
	f.Expect(f.hostFile("/etc/motd")).To(Equal("This host is configured from Git.\n"), "a failed resource does not stop others")
	f.Expect(flux.readyCondition("web")).To(HavePrefix("False DependencyNotReady"))
	f.Expect(f.fileExists("site")).To(BeFalse(), "a Kustomization was applied before what it depends on")

	r.remove("nodes/base/broken.yaml")
	fixed := flux.publish(r.commit())
	flux.awaitReady("base", fixed)
	flux.awaitReady("web", fixed)
	f.Expect(f.fileExists("broken")).To(BeFalse())
	f.Expect(f.hostFile("/etc/site")).To(Equal("web\n"))

	t.Log("finalizers and annotations of others stay, but not annotations of kubectl")
	f.kubectl("annotate", "file.fettle.dev", "motd", "fettle.dev/abandon-cleanup=later", "--field-manager=admin")
	f.kubectl("annotate", "file.fettle.dev", "motd", "test.example/by=kubectl")
	r.write("nodes/base/motd.yaml", strings.Replace(r.read("nodes/base/motd.yaml"), "configured", "managed", 1))
	flux.awaitReady("base", flux.publish(r.commit()))
	f.Expect(f.hostFile("/etc/motd")).To(Equal("This host is managed from Git.\n"))
	f.Expect(f.kubectl("get", "file.fettle.dev", "motd", "-o", `jsonpath={.metadata.finalizers} {.metadata.annotations}`)).To(Equal(`["fettle.dev/cleanup"] {"fettle.dev/abandon-cleanup":"later"}`))

	t.Log("pruning removes from the host what has deletionPolicy Delete, and only that")
	r.remove("nodes/base/motd.yaml")
	r.remove("nodes/web/site.yaml")
	r.write("nodes/base/other.yaml", other)
	r.write("nodes/web/other.yaml", strings.ReplaceAll(other, "other", "another"))
	pruned := flux.publish(r.commit())
	flux.awaitReady("base", pruned)
	flux.awaitReady("web", pruned)
	f.eventually("the objects are pruned", func(g Gomega) {
		g.Expect(f.fileExists("motd")).To(BeFalse())
		g.Expect(f.fileExists("site")).To(BeFalse())
	})
	f.Expect(f.hostFile("/etc/motd")).To(BeEmpty())
	f.Expect(f.hostFile("/etc/site")).To(Equal("web\n"))

	t.Log("a resource in progress is waited for until the timeout")
	f.createNode("silent")
	r.write("flux/nodes.yaml", strings.ReplaceAll(r.read("flux/nodes.yaml"), "timeout: 5m", "timeout: 3s"))
	r.write("nodes/base/other.yaml", strings.Replace(other, "new", "newer", 1))
	flux.publish(r.commit())
	f.eventually("the resource in progress", func(g Gomega) {
		g.Expect(flux.readyCondition("base")).To(And(HavePrefix("False HealthCheckFailed"), ContainSubstring("InProgress")))
	})
	f.Expect(f.hostFile("/etc/other")).To(Equal("newer\n"))
}

// other is a resource that stays on the host when it is pruned.
const other = `apiVersion: fettle.dev/v1alpha1
kind: File
metadata: {name: other}
spec: {nodeSelector: {}, path: /etc/other, content: "new\n"}
`

// A flux is kustomize-controller, with the test as source-controller.
type flux struct {
	*fixture
	repository *repository
}

func startFlux(f *fixture, r *repository) *flux {
	f.t.Helper()
	f.kubectl("create", "namespace", "flux-system")
	f.t.Setenv("RUNTIME_NAMESPACE", "flux-system")
	f.t.Setenv("KUBECONFIG", f.kubeconfig)
	f.startProgram(f.build("kustomize-controller"), "--metrics-addr=0", "--health-addr="+freeport.AddressFor(f.t), "--events-addr=", "--requeue-dependency=1s", "--log-level=debug")
	return &flux{f, r}
}

// kubernetesApply applies a file of the repository.
func (k *flux) kubernetesApply(name string) {
	k.t.Helper()
	k.kubectl("apply", "--server-side", "-f", filepath.Join(k.repository.dir, name))
}

// publish reports an artifact in the status of the GitRepository, as source-controller does, and returns its revision.
func (k *flux) publish(a artifact) (revision string) {
	k.t.Helper()
	k.kubernetesApply("flux/nodes.yaml")
	now := time.Now().UTC().Format(time.RFC3339)
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": 1,
		"artifact":           map[string]any{"revision": a.revision, "url": a.url, "digest": a.digest, "path": filepath.Base(a.url), "lastUpdateTime": now},
		"conditions":         []any{map[string]any{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored artifact", "lastTransitionTime": now, "observedGeneration": 1}},
	}})
	must(k.t, err)
	k.kubectl("patch", "-n", "flux-system", "gitrepositories.source.toolkit.fluxcd.io", "nodes", "--subresource=status", "--type=merge", "-p", string(status))
	return a.revision
}

// readyCondition returns status, reason and message of a Kustomization's condition Ready.
func (k *flux) readyCondition(name string) string {
	k.t.Helper()
	for _, c := range k.conditions(k.kustomization(name)) {
		if c["type"] == "Ready" {
			return strings.Join([]string{c["status"], c["reason"], c["message"]}, " ")
		}
	}
	return ""
}

// awaitReady waits until a Kustomization is Ready with a revision.
func (k *flux) awaitReady(name, revision string) {
	k.t.Helper()
	k.eventually(name+" is ready", func(g Gomega) {
		o := k.kustomization(name)
		applied, _, err := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(applied).To(Equal(revision), "%v", k.conditions(o))
		g.Expect(k.readyCondition(name)).To(HavePrefix("True ReconciliationSucceeded"))
	})
}

func (k *flux) kustomization(name string) *unstructured.Unstructured {
	k.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
	must(k.t, k.admin.Get(k.t.Context(), client.ObjectKey{Namespace: "flux-system", Name: name}, o))
	return o
}

func (k *flux) conditions(o *unstructured.Unstructured) []map[string]string {
	k.t.Helper()
	var status struct {
		Conditions []map[string]any
	}
	text, err := json.Marshal(o.Object["status"])
	must(k.t, err)
	must(k.t, json.Unmarshal(text, &status))
	var all []map[string]string
	for _, c := range status.Conditions {
		one := map[string]string{}
		for key, value := range c {
			one[key], _ = value.(string)
		}
		all = append(all, one)
	}
	return all
}

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
	w := newWorld(t)
	r := newRepository(t)
	f := startFlux(w, r)

	r.write("nodes/base/broken.yaml", broken)
	f.publish(r.commit())
	f.kubernetesApply("flux/nodes.yaml")
	w.soon("the failed resource fails the Kustomization", func(g Gomega) {
		g.Expect(f.ready("base")).To(And(HavePrefix("False HealthCheckFailed"), ContainSubstring("File/broken")))
	})
	w.Expect(w.host("/etc/motd")).To(Equal("This host is configured from Git.\n"), "a failed resource does not stop others")
	w.Expect(f.ready("web")).To(HavePrefix("False DependencyNotReady"))
	w.Expect(w.exists("site")).To(BeFalse(), "a Kustomization was applied before what it depends on")

	r.remove("nodes/base/broken.yaml")
	fixed := f.publish(r.commit())
	f.isReady("base", fixed)
	f.isReady("web", fixed)
	w.Expect(w.exists("broken")).To(BeFalse())
	w.Expect(w.host("/etc/site")).To(Equal("web\n"))

	t.Log("finalizers and annotations of others stay, but not annotations of kubectl")
	w.kubectl("annotate", "file.fettle.dev", "motd", "fettle.dev/abandon-cleanup=later", "--field-manager=admin")
	w.kubectl("annotate", "file.fettle.dev", "motd", "test.example/by=kubectl")
	r.write("nodes/base/motd.yaml", strings.Replace(r.read("nodes/base/motd.yaml"), "configured", "managed", 1))
	f.isReady("base", f.publish(r.commit()))
	w.Expect(w.host("/etc/motd")).To(Equal("This host is managed from Git.\n"))
	w.Expect(w.kubectl("get", "file.fettle.dev", "motd", "-o", `jsonpath={.metadata.finalizers} {.metadata.annotations}`)).To(Equal(`["fettle.dev/cleanup"] {"fettle.dev/abandon-cleanup":"later"}`))

	t.Log("pruning removes from the host what has deletionPolicy Delete, and only that")
	r.remove("nodes/base/motd.yaml")
	r.remove("nodes/web/site.yaml")
	r.write("nodes/base/other.yaml", other)
	r.write("nodes/web/other.yaml", strings.ReplaceAll(other, "other", "another"))
	pruned := f.publish(r.commit())
	f.isReady("base", pruned)
	f.isReady("web", pruned)
	w.soon("the objects are pruned", func(g Gomega) {
		g.Expect(w.exists("motd")).To(BeFalse())
		g.Expect(w.exists("site")).To(BeFalse())
	})
	w.Expect(w.host("/etc/motd")).To(BeEmpty())
	w.Expect(w.host("/etc/site")).To(Equal("web\n"))

	t.Log("a resource in progress is waited for until the timeout")
	w.node("silent")
	r.write("flux/nodes.yaml", strings.ReplaceAll(r.read("flux/nodes.yaml"), "timeout: 5m", "timeout: 3s"))
	r.write("nodes/base/other.yaml", strings.Replace(other, "new", "newer", 1))
	f.publish(r.commit())
	w.soon("the resource in progress", func(g Gomega) {
		g.Expect(f.ready("base")).To(And(HavePrefix("False HealthCheckFailed"), ContainSubstring("InProgress")))
	})
	w.Expect(w.host("/etc/other")).To(Equal("newer\n"))
}

// other is a resource that stays on the host when it is pruned.
const other = `apiVersion: fettle.dev/v1alpha1
kind: File
metadata: {name: other}
spec: {nodeSelector: {}, path: /etc/other, content: "new\n"}
`

// A flux is kustomize-controller, with the test as source-controller.
type flux struct {
	*world
	repository *repository
}

func startFlux(w *world, r *repository) *flux {
	w.t.Helper()
	w.kubectl("create", "namespace", "flux-system")
	w.t.Setenv("RUNTIME_NAMESPACE", "flux-system")
	w.t.Setenv("KUBECONFIG", w.kubeconfig)
	w.run(w.build("kustomize-controller"), "--metrics-addr=0", "--health-addr="+freeport.AddressFor(w.t), "--events-addr=", "--requeue-dependency=1s", "--log-level=debug")
	return &flux{w, r}
}

// kubernetesApply applies a file of the repository.
func (f *flux) kubernetesApply(name string) {
	f.t.Helper()
	f.kubectl("apply", "--server-side", "-f", filepath.Join(f.repository.dir, name))
}

// publish reports an artifact in the status of the GitRepository, as source-controller does, and returns its revision.
func (f *flux) publish(a artifact) (revision string) {
	f.t.Helper()
	f.kubernetesApply("flux/nodes.yaml")
	now := time.Now().UTC().Format(time.RFC3339)
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": 1,
		"artifact":           map[string]any{"revision": a.revision, "url": a.url, "digest": a.digest, "path": filepath.Base(a.url), "lastUpdateTime": now},
		"conditions":         []any{map[string]any{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored artifact", "lastTransitionTime": now, "observedGeneration": 1}},
	}})
	must(f.t, err)
	f.kubectl("patch", "-n", "flux-system", "gitrepositories.source.toolkit.fluxcd.io", "nodes", "--subresource=status", "--type=merge", "-p", string(status))
	return a.revision
}

// ready returns status, reason and message of a Kustomization's condition Ready.
func (f *flux) ready(name string) string {
	f.t.Helper()
	for _, c := range f.conditions(f.kustomization(name)) {
		if c["type"] == "Ready" {
			return strings.Join([]string{c["status"], c["reason"], c["message"]}, " ")
		}
	}
	return ""
}

// isReady waits until a Kustomization is Ready with a revision.
func (f *flux) isReady(name, revision string) {
	f.t.Helper()
	f.soon(name+" is ready", func(g Gomega) {
		k := f.kustomization(name)
		applied, _, err := unstructured.NestedString(k.Object, "status", "lastAppliedRevision")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(applied).To(Equal(revision), "%v", f.conditions(k))
		g.Expect(f.ready(name)).To(HavePrefix("True ReconciliationSucceeded"))
	})
}

func (f *flux) kustomization(name string) *unstructured.Unstructured {
	f.t.Helper()
	k := &unstructured.Unstructured{}
	k.SetGroupVersionKind(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
	must(f.t, f.admin.Get(f.t.Context(), client.ObjectKey{Namespace: "flux-system", Name: name}, k))
	return k
}

func (f *flux) conditions(k *unstructured.Unstructured) []map[string]string {
	f.t.Helper()
	var status struct {
		Conditions []map[string]any
	}
	text, err := json.Marshal(k.Object["status"])
	must(f.t, err)
	must(f.t, json.Unmarshal(text, &status))
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

//go:build gitops

package gitops_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestArgoCDSyncsInWavesAssessesHealthAndPrunes(t *testing.T) {
	f := newFixture(t)
	r := newRepository(t)
	a := &argocd{f, r, f.build("argocd")}
	f.kubectl("create", "namespace", "argocd")
	f.kubectl("apply", "--server-side", "--validate=strict", "-f", filepath.Join(r.dir, "argocd/nodes.yaml"))

	t.Log("a failed resource of wave 0 fails the sync before wave 1")
	r.write("app/motd.yaml", r.read("nodes/base/motd.yaml"))
	r.write("app/site.yaml", wave1(r.read("nodes/web/site.yaml")))
	r.write("app/broken.yaml", broken)
	r.commit()
	failed := a.sync("1m")
	f.Expect(failed.Health).To(Equal("Degraded"), "%+v", failed)
	f.Expect(failed.Healths["File/broken"]).To(HavePrefix("Degraded: "))
	f.Expect(failed.Healths["File/motd"]).To(HavePrefix("Healthy: "))
	f.Expect(failed.Resources["File/broken"]).To(HaveSuffix("Failed"), "%+v", failed)
	f.Expect(failed.Error).To(HavePrefix("Failed: "))
	f.Expect(f.fileExists("site")).To(BeFalse(), "wave 1 was applied after a failure of wave 0")
	f.Expect(f.hostFile("/etc/motd")).To(Equal("This host is configured from Git.\n"))

	t.Log("the next wave is applied when hosts have the previous one, and what Git lacks is pruned")
	r.remove("app/broken.yaml")
	r.commit()
	synced := a.sync("1m")
	f.Expect(synced.Error).To(BeEmpty())
	f.Expect(f.fileExists("broken")).To(BeFalse())
	f.eventually("the Application is healthy", func(g Gomega) {
		g.Expect(a.sync("1m").Health).To(Equal("Healthy"))
	})
	f.Expect(f.hostFile("/etc/site")).To(Equal("web\n"))

	t.Log("pruning removes from the host what has deletionPolicy Delete, and only that")
	r.remove("app/motd.yaml")
	r.remove("app/site.yaml")
	r.write("app/other.yaml", other)
	r.commit()
	f.Expect(a.sync("1m").Error).To(BeEmpty())
	f.eventually("the objects are pruned", func(g Gomega) {
		g.Expect(f.fileExists("motd")).To(BeFalse())
		g.Expect(f.fileExists("site")).To(BeFalse())
	})
	f.Expect(f.hostFile("/etc/motd")).To(BeEmpty())
	f.Expect(f.hostFile("/etc/site")).To(Equal("web\n"))

	t.Log("a resource in progress is Progressing")
	f.createNode("silent")
	f.eventually("the Application is progressing", func(g Gomega) {
		g.Expect(a.sync("1m").Health).To(Equal("Progressing"))
	})
}

// wave1 puts a manifest into the second sync wave, as the documentation describes.
func wave1(manifest string) string {
	return strings.Replace(manifest, "metadata: {", `metadata: {annotations: {argocd.argoproj.io/sync-wave: "1"}, `, 1)
}

// An argocd is the program in argocd/.
type argocd struct {
	*fixture
	repository *repository
	program    string
}

// A result is its output.
type result struct {
	Error, Health      string
	Resources, Healths map[string]string
}

// sync syncs the directory app of the repository.
func (a *argocd) sync(timeout string) result {
	a.t.Helper()
	cmd := exec.CommandContext(a.t.Context(), a.program, "--kubeconfig="+a.kubeconfig, "--settings=../../config/argocd/argocd-cm.yaml",
		"--repository="+a.repository.dir, "--path=app", "--timeout="+timeout)
	cmd.Stderr = a.t.Output()
	out, err := cmd.Output()
	must(a.t, err)
	var r result
	must(a.t, json.Unmarshal(out, &r))
	return r
}

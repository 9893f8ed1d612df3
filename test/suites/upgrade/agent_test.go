package upgrade_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// The agent of one version applies a catalog. That of the next one starts while neither the API server nor the registry answers
// and runs are disabled, and later gets a catalog that has lost most resources.
func TestNextAgentTakesOverTheNode(t *testing.T) {
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	exchanges(t, func(t *testing.T, from, to version) {
		images, note := notes(t)
		n := newNode(t, cfg)
		n.write("replaced", "original")
		must(t, os.Chmod(n.etc("replaced"), 0o600))

		n.start(from)
		n.should()
		key := n.publicKey()
		stays := file("stays", "good", "")
		entries := []v1alpha1.CatalogEntry{
			stays,
			n.sealed(key, "sealed", "s3cret"),
			file("deleted", "good", v1alpha1.DeletionDelete),
			file("replaced", "good", v1alpha1.DeletionRestore),
			n.external(note, v1alpha1.DeletionDelete),
		}
		n.applied(n.should(append(entries, directory("directory", v1alpha1.DeletionDelete))...))
		n.write("directory/theirs", "precious")
		n.applied(n.should(entries...)) // the directory cannot be removed yet
		for _, name := range []string{"sealed", "stays", "deleted", "replaced", "note", "directory"} {
			n.Expect(n.etc(name)).To(BeAnExistingFile())
		}
		n.stop()

		from.fettle(t, n.root, "", "disable", "maintenance")
		drifts := []string{"sealed", "stays", "note"}
		for _, name := range drifts {
			must(t, os.Remove(n.etc(name)))
		}
		must(t, os.RemoveAll(n.etc("directory/theirs")))
		images.Close()
		n.startWithoutCluster(to)
		n.logs("runs are disabled on this host (maintenance)")
		for _, name := range drifts {
			n.Expect(n.etc(name)).NotTo(BeAnExistingFile())
		}
		to.fettle(t, n.root, "", "enable")
		n.has("sealed", "s3cret")
		n.has("stays", "good")
		n.has("note", "hello")
		n.logs("File/stays: created (corrective)")
		n.logs("File/directory: removed")
		n.logs(`"trigger":"Start"`) // the run has ended
		n.stop()

		n.start(to)
		status := n.applied(n.should(stays))
		for _, name := range []string{"deleted", "note", "directory"} {
			n.Expect(n.etc(name)).NotTo(BeAnExistingFile())
		}
		n.has("replaced", "original")
		mode, err := os.Stat(n.etc("replaced"))
		must(t, err)
		n.Expect(mode.Mode()).To(Equal(os.FileMode(0o600)))
		n.Expect(status.PublicKey).To(Equal(key.String()))
		n.Expect(status.Counts).To(HaveValue(Equal(v1alpha1.RunCounts{Total: 1, InSync: 1, Changed: 3})))
	})
}

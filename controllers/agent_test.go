package controllers_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/nodes"
)

// of returns a condition of a File, or "gone".
func (s site) of(ctx context.Context, name, condition string) func() string {
	return func() string {
		var f v1alpha1.File
		if err := s.Get(ctx, client.ObjectKey{Name: name}, &f); err != nil {
			s.Expect(client.IgnoreNotFound(err)).To(Succeed())
			return "gone"
		}
		if c := meta.FindStatusCondition(f.Status.Conditions, condition); c != nil {
			return string(c.Status) + " " + c.Reason + ": " + c.Message
		}
		return ""
	}
}

func TestManagerAndAgentDeleteTogether(t *testing.T) {
	t.Parallel()

	s, ctx, dir := newSite(t), t.Context(), t.TempDir()
	there := func(path string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, "root", path)); return err == nil }
	}
	directory := file("d", "/d", deleted)
	directory.Spec.Content, directory.Spec.Ensure = nil, new("directory")
	for _, o := range []client.Object{
		node("n1", "web"), directory,
		file("a", "/a", deleted), file("b", "/b", deleted, on("web")), file("c", "/c", deleted), file("left", "/left"),
	} {
		s.Expect(s.Create(ctx, o)).To(Succeed())
	}
	nodes.Start(ctx, t, nodes.Options{Cluster: s.cfg, Dir: dir, Names: []string{"n1"}, Complete: func(_ string, c *nodeagent.Config) {
		c.Kinds, c.Splay, c.Spread = providers.Kinds(), 0, 0
	}})
	for _, name := range []string{"a", "b", "c", "d", "left"} {
		s.Eventually(ctx, s.of(ctx, name, "Ready")).WithTimeout(soon).Should(HavePrefix("True InSync"))
	}

	// Deleted resources are removed from the host, and then from the cluster.
	s.kubectl("delete", "file", "a", "left")
	s.Expect(there("a")()).To(BeFalse())
	s.Eventually(ctx, s.of(ctx, "c", "Ready")).WithTimeout(soon).Should(HavePrefix("True InSync"))
	s.Expect(there("left")()).To(BeTrue())

	// Deselected resources are removed from the host.
	s.Expect(s.Patch(ctx, node("n1", ""), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"role":"db"}}}`)))).To(Succeed())
	s.Eventually(ctx, there("b")).WithTimeout(soon).Should(BeFalse())

	// A failed removal delays the deletion until it is abandoned.
	s.Expect(os.WriteFile(filepath.Join(dir, "root/d/mine"), nil, 0o600)).To(Succeed())
	s.Expect(s.Delete(ctx, directory)).To(Succeed())
	s.Eventually(ctx, s.of(ctx, "d", "Reconciling")).WithTimeout(soon).Should(And(
		HavePrefix("True CleaningUp: deletionPolicy Delete: 1 node has yet to clean up: n1 (Failed: "), ContainSubstring("/d")))
	s.Expect(s.Patch(ctx, file("d", ""), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"fettle.dev/abandon-cleanup":"true"}}}`)))).To(Succeed())
	s.Eventually(ctx, s.of(ctx, "d", "Reconciling")).WithTimeout(soon).Should(Equal("gone"))
	s.Expect(there("d/mine")()).To(BeTrue())

	// Uninstalling leaves the host as it is.
	s.kubectl("delete", "-k", "../config/crd")
	s.Consistently(ctx, there("c")).Should(BeTrue())
}

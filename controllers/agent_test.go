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

// conditionOf returns a condition of a File, or "gone".
func (c cluster) conditionOf(ctx context.Context, name, condition string) func() string {
	return func() string {
		var f v1alpha1.File
		if err := c.Get(ctx, client.ObjectKey{Name: name}, &f); err != nil {
			c.Expect(client.IgnoreNotFound(err)).To(Succeed())
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

	c, ctx, dir := newCluster(t), t.Context(), t.TempDir()
	isOnHost := func(path string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, "root", path)); return err == nil }
	}
	directory := file("d", "/d", withDeletion)
	directory.Spec.Content, directory.Spec.Ensure = nil, new("directory")
	for _, o := range []client.Object{
		node("n1", "web"), directory,
		file("a", "/a", withDeletion), file("b", "/b", withDeletion, on("web")), file("c", "/c", withDeletion), file("left", "/left"),
	} {
		c.Expect(c.Create(ctx, o)).To(Succeed())
	}
	nodes.Start(ctx, t, nodes.Options{Cluster: c.cfg, Dir: dir, Names: []string{"n1"}, Complete: func(_ string, c *nodeagent.Config) {
		c.Kinds, c.Splay, c.Spread = providers.Kinds(), 0, 0
	}})
	for _, name := range []string{"a", "b", "c", "d", "left"} {
		c.Eventually(ctx, c.conditionOf(ctx, name, "Ready")).WithTimeout(limit).Should(HavePrefix("True InSync"))
	}

	// Deleted resources are removed from the host, and then from the cluster.
	c.kubectl("delete", "file", "a", "left")
	c.Expect(isOnHost("a")()).To(BeFalse())
	c.Eventually(ctx, c.conditionOf(ctx, "c", "Ready")).WithTimeout(limit).Should(HavePrefix("True InSync"))
	c.Expect(isOnHost("left")()).To(BeTrue())

	// Deselected resources are removed from the host.
	c.Expect(c.Patch(ctx, node("n1", ""), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"role":"db"}}}`)))).To(Succeed())
	c.Eventually(ctx, isOnHost("b")).WithTimeout(limit).Should(BeFalse())

	// A failed removal delays the deletion until it is abandoned.
	c.Expect(os.WriteFile(filepath.Join(dir, "root/d/mine"), nil, 0o600)).To(Succeed())
	c.Expect(c.Delete(ctx, directory)).To(Succeed())
	c.Eventually(ctx, c.conditionOf(ctx, "d", "Reconciling")).WithTimeout(limit).Should(And(
		HavePrefix("True CleaningUp: deletionPolicy Delete: 1 node has yet to clean up: n1 (Failed: "), ContainSubstring("/d")))
	c.Expect(c.Patch(ctx, file("d", ""), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"fettle.dev/abandon-cleanup":"true"}}}`)))).To(Succeed())
	c.Eventually(ctx, c.conditionOf(ctx, "d", "Reconciling")).WithTimeout(limit).Should(Equal("gone"))
	c.Expect(isOnHost("d/mine")()).To(BeTrue())

	// Uninstalling leaves the host as it is.
	c.kubectl("delete", "-k", "../config/crd")
	c.Consistently(ctx, isOnHost("c")).Should(BeTrue())
}

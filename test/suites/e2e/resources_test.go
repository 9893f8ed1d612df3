//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// apply applies a manifest and deletes it after the spec.
func apply(ctx context.Context, manifest string) {
	GinkgoHelper()
	Expect(c.Apply(ctx, manifest)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(c.Delete(ctx, manifest)).To(Succeed())
	}, NodeTimeout(2*soon))
}

// file returns a File with a path and a line of content, on all nodes. More are further lines of its spec.
func file(name, path, content string, more ...string) string {
	lines := []string{
		"apiVersion: fettle.dev/v1alpha1", "kind: File", "metadata: {name: " + name + "}", "spec:",
		"  nodeSelector: {}", "  path: " + path, fmt.Sprintf("  content: %q", content),
	}
	for _, m := range more {
		lines = append(lines, "  "+m)
	}
	return strings.Join(lines, "\n") + "\n"
}

func ready(ctx context.Context, resources ...string) {
	GinkgoHelper()
	kubectl(ctx, append([]string{"wait", "--for=condition=Ready", "--timeout=1m"}, resources...)...)
}

var _ = Describe("A resource", func() {
	It("is applied to all nodes, updated and restarts what it notifies", Label("resources"), func(ctx SpecContext) {
		apply(ctx, file("e2e-unit", "/etc/systemd/system/e2e.service", "[Service]\nExecStart=/bin/sleep infinity\n", "notify: [SystemService/e2e]", "deletionPolicy: Delete"))
		apply(ctx, `{apiVersion: fettle.dev/v1alpha1, kind: SystemService, metadata: {name: e2e}, spec: {nodeSelector: {}, ensure: running, deletionPolicy: Delete}}`)
		ready(ctx, "file/e2e-unit", "systemservice/e2e")
		pid := func() string { return on(ctx, node, "systemctl show --property MainPID --value e2e") }
		before := pid()
		kubectl(ctx, "patch", "file", "e2e-unit", "--type=merge", `--patch={"spec":{"content":"[Service]\nExecStart=/bin/sleep 1d\n"}}`)
		Eventually(pid).WithContext(ctx).ShouldNot(Or(Equal(before), Equal("0\n")))
		Expect(on(ctx, node, "systemctl cat e2e")).To(ContainSubstring("sleep 1d"))
	}, NodeTimeout(4*soon))

	It("is corrected within seconds when it drifts", Label("drift"), func(ctx SpecContext) {
		apply(ctx, file("e2e-drift", "/etc/e2e-drift", "desired\n"))
		ready(ctx, "file/e2e-drift")
		on(ctx, node, "echo changed > /etc/e2e-drift")
		began := time.Now()
		Eventually(func() string { return on(ctx, node, "cat /etc/e2e-drift") }).WithContext(ctx).Should(Equal("desired\n"))
		AddReportEntry("drift corrected after", time.Since(began).String())
		Eventually(func() string {
			return kubectl(ctx, "get", "nodecatalog", node, "-o", "jsonpath={.status.resources[?(@.corrective==true)].ref}")
		}).WithContext(ctx).Should(ContainSubstring("File/e2e-drift"))
	}, NodeTimeout(3*soon))

	It("leaves nodes that it no longer selects as they are by default", Label("resources"), func(ctx SpecContext) {
		kubectl(ctx, "label", "node", node, "e2e=yes")
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, "label", "node", node, "e2e-") }, NodeTimeout(soon))
		apply(ctx, strings.ReplaceAll(file("e2e-selected", "/etc/e2e-selected", "here\n"), "nodeSelector: {}", "nodeSelector: {matchLabels: {e2e: 'yes'}}"))
		ready(ctx, "file/e2e-selected")
		Expect(on(ctx, "node-2", "ls /etc")).NotTo(ContainSubstring("e2e-selected"))
		kubectl(ctx, "label", "node", node, "e2e-")
		Eventually(func() string {
			return kubectl(ctx, "get", "file", "e2e-selected", "-o", "jsonpath={.status.nodes.selected}")
		}).WithContext(ctx).Should(Or(Equal("0"), BeEmpty()))
		Expect(on(ctx, node, "cat /etc/e2e-selected")).To(Equal("here\n"))
	}, NodeTimeout(3*soon))

	DescribeTable("is deleted", Label("deletion"), func(ctx SpecContext, policy, left string) {
		// A file for each policy: the agent corrects the one of a resource until it knows that the resource is gone.
		name := "e2e-deleted-" + strings.ToLower(policy)
		on(ctx, node, "echo original > /etc/"+name)
		manifest := file(name, "/etc/"+name, "managed\n", "deletionPolicy: "+policy)
		Expect(c.Apply(ctx, manifest)).To(Succeed())
		ready(ctx, "file/"+name)
		Expect(on(ctx, node, "cat /etc/"+name)).To(Equal("managed\n"))
		Expect(c.Delete(ctx, manifest)).To(Succeed())
		Eventually(func() string { return on(ctx, node, "cat /etc/"+name+" || true") }).WithContext(ctx).Should(Equal(left))
	},
		Entry("and leaves the host as it is", "Orphan", "managed\n", NodeTimeout(3*soon)),
		Entry("and deletes what it managed", "Delete", "", NodeTimeout(3*soon)),
		Entry("and restores what it replaced", "Restore", "original\n", NodeTimeout(3*soon)),
	)
})

var _ = Describe("The samples", func() {
	It("are applied with kustomize and become ready", Label("install", "finding-2"), func(ctx SpecContext) {
		for _, n := range c.Nodes() {
			kubectl(ctx, "label", "node", n.Name, "role=web")
		}
		DeferCleanup(func(ctx SpecContext) {
			kubectl(ctx, "delete", "--ignore-not-found", "-k", installed.tree+"/config/samples")
			kubectl(ctx, "label", "nodes", "--all", "role-")
			for _, n := range c.Nodes() { // deleted samples leave hosts as they are
				on(ctx, n.Name, "apt-get --quiet --yes purge nginx-light && apt-get --quiet --yes autoremove --purge")
			}
		}, NodeTimeout(4*soon))
		kubectl(ctx, "apply", "-k", installed.tree+"/config/samples")
		kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=3m", "files,packages,users,groups,systemservices", "--all")
		for _, n := range c.Nodes() {
			Expect(on(ctx, n.Name, "systemctl is-active nginx")).To(Equal("active\n"))
		}
	}, NodeTimeout(6*soon))
})

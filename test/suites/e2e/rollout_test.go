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

// soaks is how long a rollout over the nodes of the cluster may take: some soaks, on a very busy machine.
const soaks = 4 * soon

// rolloutPolicy returns a RolloutPolicy for nodes with a label, or for all nodes for "". More are further lines of its spec.
func rolloutPolicy(name, label string, more ...string) string {
	selector := "{}"
	if label != "" {
		selector = "{matchLabels: {" + label + "}}"
	}
	lines := []string{
		"apiVersion: fettle.dev/v1alpha1", "kind: RolloutPolicy", "metadata: {name: " + name + "}", "spec:",
		"  nodeSelector: " + selector, "  soak: 90s", "  maxInFlight: 100%",
	}
	for _, m := range more {
		lines = append(lines, "  "+m)
	}
	return strings.Join(lines, "\n") + "\n"
}

// contents returns what a file has on each node, as "bad good good".
func contents(ctx context.Context, path string) string {
	GinkgoHelper()
	var all []string
	for _, n := range c.Nodes() {
		all = append(all, strings.TrimSpace(on(ctx, n.Name, "cat "+path+" || echo none")))
	}
	return strings.Join(all, " ")
}

// onlyFailure returns the node where the target of a policy failed, which must be one.
func onlyFailure(ctx context.Context, policy string) string {
	GinkgoHelper()
	broken := kubectl(ctx, "get", "rolloutpolicy", policy, "-o", "jsonpath={.status.failures[*].node}")
	Expect(broken).To(MatchRegexp(`^node-\d$`))
	return broken
}

// exchangeManager replaces the managers by those of an image.
func exchangeManager(ctx context.Context, image string) {
	GinkgoHelper()
	kubectl(ctx, "-n", "fettle-system", "set", "image", "deployment/fettle-manager", "manager="+image)
	kubectl(ctx, "-n", "fettle-system", "rollout", "status", "deployment/fettle-manager", "--timeout=3m")
}

// onAll runs a script on each node.
func onAll(ctx context.Context, script string) {
	GinkgoHelper()
	for _, n := range c.Nodes() {
		on(ctx, n.Name, script)
	}
}

// contentOf patches the content of a File.
func contentOf(ctx context.Context, name, content string) {
	GinkgoHelper()
	kubectl(ctx, "patch", "file", name, "--type=merge", fmt.Sprintf(`--patch={"spec":{"content":%q}}`, content))
}

// conditionReady returns status and reason of the condition Ready of an object, as "False Paused".
func conditionReady(ctx context.Context, object string) func() string {
	return func() string {
		return kubectl(ctx, "get", object, "-o", `jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.reason}{end}`)
	}
}

// pluginCommand builds the plugin, and returns a function that runs it and returns what it prints.
func pluginCommand(ctx context.Context) func(args ...string) string {
	GinkgoHelper()
	program := buildProgram(ctx, "kubectl-fettle")
	return func(args ...string) string {
		GinkgoHelper()
		out, err := withKubeconfig(ctx, program, args...).Output()
		Expect(err).NotTo(HaveOccurred())
		return string(out)
	}
}

var _ = Describe("A rollout", Label("rollout"), func() {
	It("stops at the first node that a bad file breaks, and its fix reaches that node first and then all others", func(ctx SpecContext) {
		fettle := pluginCommand(ctx)
		apply(ctx, file("e2e-rollout", "/etc/e2e-rollout", "first", `validateCmd: "grep -v bad %"`, "deletionPolicy: Delete"))
		ready(ctx, "file/e2e-rollout")
		apply(ctx, rolloutPolicy("e2e", ""))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e")).WithContext(ctx).Should(Equal("True RolledOut"))
		Expect(contents(ctx, "/etc/e2e-rollout")).To(Equal("first first first"))
		recordings := []*recording{record(ctx, "file/e2e-rollout"), record(ctx, "rolloutpolicy/e2e")}

		contentOf(ctx, "e2e-rollout", "bad")
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e")).WithTimeout(soaks).WithContext(ctx).Should(Equal("False RolloutHalted"))
		Expect(conditionReady(ctx, "file/e2e-rollout")()).To(Equal("False RolloutHalted"))
		broken := onlyFailure(ctx, "e2e")
		Expect(kubectl(ctx, "get", "nodecatalogs", "-o", `jsonpath={.items[?(@.status.counts.failed>0)].metadata.name}`)).To(Equal(broken))
		Expect(fettle("rollout", "status", "e2e")).To(ContainSubstring(broken))

		contentOf(ctx, "e2e-rollout", "fixed")
		fixed := func() []string {
			var nodes []string
			for _, n := range c.Nodes() {
				if on(ctx, n.Name, "cat /etc/e2e-rollout") == "fixed" {
					nodes = append(nodes, n.Name)
				}
			}
			return nodes
		}
		Eventually(fixed).WithContext(ctx).Should(Equal([]string{broken}))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e")).WithTimeout(soaks).WithContext(ctx).Should(Equal("True RolledOut"))
		Expect(contents(ctx, "/etc/e2e-rollout")).To(Equal("fixed fixed fixed"))
		Eventually(conditionReady(ctx, "file/e2e-rollout")).WithContext(ctx).Should(Equal("True InSync"))
		for _, r := range recordings {
			Expect(r.health(ctx)).To(HaveExactElements("Healthy Current", "Progressing InProgress", "Degraded Failed", "Progressing InProgress", "Healthy Current"), r.objects)
		}
	}, NodeTimeout(3*soaks))

	It("passes staging before production, pauses, and goes back, while a manager of another version acts for a while", func(ctx SpecContext) {
		fettle := pluginCommand(ctx)
		older, newer := loadManager(ctx, previousWithRollouts(ctx)), kubectl(ctx, "-n", "fettle-system", "get", "deployment", "fettle-manager", "-o", "jsonpath={..image}")
		DeferCleanup(func(ctx SpecContext) { exchangeManager(ctx, newer) }, NodeTimeout(soon))
		kubectl(ctx, "label", "node", "node-1", "ring=staging")
		kubectl(ctx, "label", "node", "node-2", "node-3", "ring=production")
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, "label", "nodes", "--all", "ring-") }, NodeTimeout(soon))
		apply(ctx, file("e2e-rings", "/etc/e2e-rings", "first", "deletionPolicy: Delete"))
		ready(ctx, "file/e2e-rings")
		apply(ctx, rolloutPolicy("e2e-staging", "ring: staging"))
		apply(ctx, rolloutPolicy("e2e-production", "ring: production", "after: [e2e-staging]"))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-production")).WithContext(ctx).Should(Equal("True RolledOut"))
		stable := kubectl(ctx, "get", "rolloutpolicy", "e2e-production", "-o", "jsonpath={.status.stable}")
		catalogs, recordings := record(ctx, "nodecatalogs"), []*recording{record(ctx, "file/e2e-rings"), record(ctx, "rolloutpolicy/e2e-production")}

		contentOf(ctx, "e2e-rings", "second")
		Eventually(func() string { return contents(ctx, "/etc/e2e-rings") }).WithContext(ctx).Should(Equal("second first first"))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-production")).WithContext(ctx).Should(Equal("False WaitingForPolicy"))
		Expect(fettle("why", "file/e2e-rings")).To(ContainSubstring("e2e-staging"))
		exchangeManager(ctx, older)
		Expect(contents(ctx, "/etc/e2e-rings")).To(Equal("second first first"))
		fettle("rollout", "pause", "e2e-production")
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-staging")).WithTimeout(soaks).WithContext(ctx).Should(Equal("True RolledOut"))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-production")).WithContext(ctx).Should(Equal("False Paused"))
		Consistently(func() string { return contents(ctx, "/etc/e2e-rings") }).WithTimeout(20 * time.Second).WithContext(ctx).Should(Equal("second first first"))
		exchangeManager(ctx, newer)
		Expect(contents(ctx, "/etc/e2e-rings")).To(Equal("second first first"))
		fettle("rollout", "resume", "e2e-production")
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-production")).WithTimeout(soaks).WithContext(ctx).Should(Equal("True RolledOut"))
		Expect(contents(ctx, "/etc/e2e-rings")).To(Equal("second second second"))
		Expect(catalogs.changes(ctx)).To(Or(HaveExactElements("node-1", "node-2", "node-3"), HaveExactElements("node-1", "node-3", "node-2")))
		for _, r := range recordings {
			Expect(r.health(ctx)).To(HaveExactElements("Healthy Current", "Progressing InProgress", "Suspended InProgress", "Progressing InProgress", "Healthy Current"), r.objects)
		}

		fettle("rollout", "undo", "e2e-production", "--to", stable)
		Eventually(func() string { return contents(ctx, "/etc/e2e-rings") }).WithTimeout(soaks).WithContext(ctx).Should(Equal("second first first"))
	}, NodeTimeout(4*soaks))

	It("goes on when a node that was unwell is repaired and tried again, and leaves alone what an external type manages that is gone", func(ctx SpecContext) {
		fettle := pluginCommand(ctx)
		install(ctx, notes)
		apply(ctx, note("hello", ", deletionPolicy: Delete"))
		apply(ctx, file("e2e-retry", "/etc/e2e-retry", "first", `validateCmd: "test -f % -a ! -e /etc/e2e-unwell"`, "deletionPolicy: Delete"))
		ready(ctx, "note/e2e", "file/e2e-retry")
		apply(ctx, rolloutPolicy("e2e-retry", ""))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-retry")).WithContext(ctx).Should(Equal("True RolledOut"))
		Expect(contents(ctx, "/srv/notes/e2e")).To(Equal("hello hello hello"))
		kubectl(ctx, "delete", "externaltype", "notes")
		DeferCleanup(func(ctx SpecContext) { Expect(c.Apply(ctx, notes)).To(Succeed()) }, NodeTimeout(soon)) // which the Note needs to be deleted
		Eventually(conditionReady(ctx, "note/e2e")).WithContext(ctx).Should(Equal("False MissingType"))
		Expect(condition(ctx, "note/e2e", "Ready")()).To(HaveSuffix("; nodes keep what was rolled out before"))
		retried := record(ctx, "file/e2e-retry")

		onAll(ctx, "touch /etc/e2e-unwell")
		DeferCleanup(func(ctx SpecContext) { onAll(ctx, "rm -f /etc/e2e-unwell") }, NodeTimeout(soon))
		contentOf(ctx, "e2e-retry", "second")
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-retry")).WithTimeout(soaks).WithContext(ctx).Should(Equal("False RolloutHalted"))
		unwell := onlyFailure(ctx, "e2e-retry")
		Expect(contents(ctx, "/etc/e2e-retry")).To(Equal("first first first"))
		Expect(contents(ctx, "/srv/notes/e2e")).To(Equal("hello hello hello"))

		onAll(ctx, "rm /etc/e2e-unwell")
		Expect(fettle("rollout", "retry", unwell)).To(ContainSubstring("again"))
		Eventually(func() string { return on(ctx, unwell, "cat /etc/e2e-retry") }).WithContext(ctx).Should(Equal("second"))
		Expect(strings.Count(contents(ctx, "/etc/e2e-retry"), "second")).To(Equal(1))
		Eventually(conditionReady(ctx, "file/e2e-retry")).WithTimeout(soaks).WithContext(ctx).Should(Equal("True InSync"))
		Expect(retried.health(ctx)).To(HaveExactElements("Healthy Current", "Progressing InProgress", "Degraded Failed", "Progressing InProgress", "Healthy Current"))
		Expect(contents(ctx, "/etc/e2e-retry")).To(Equal("second second second"))
		Expect(contents(ctx, "/srv/notes/e2e")).To(Equal("hello hello hello"))
		Expect(conditionReady(ctx, "note/e2e")()).To(Equal("False MissingType"))

		Expect(c.Apply(ctx, notes)).To(Succeed())
		ready(ctx, "externaltype/notes", "note/e2e")
		Expect(kubectl(ctx, "get", "rolloutpolicy", "e2e-retry", "-o", "jsonpath={.status.nodes.admitted} admitted, {.status.nodes.failed} failed, {.status.pending}")).To(Equal("3 admitted, 0 failed, "))
	}, NodeTimeout(3*soaks))
})

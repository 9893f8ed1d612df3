//go:build e2e

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// helm runs the pinned Helm as administrator.
func helm(ctx context.Context, args ...string) {
	GinkgoHelper()
	program := strings.TrimSpace(run(ctx, "go", "-C", "hack/helm", "tool", "-n", "helm"))
	home, err := os.MkdirTemp("", "helm") // GinkgoT().TempDir is not for clean-ups
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(os.RemoveAll(home)).To(Succeed()) }()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = checkout
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "helm %s\n%s", strings.Join(args, " "), out)
}

// fettleObjects returns the objects of Fettle that are outside of its namespaces, and these.
func fettleObjects(ctx context.Context) (names []string) {
	GinkgoHelper()
	const all = "namespaces,customresourcedefinitions,clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,flowschemas,prioritylevelconfigurations"
	for name := range strings.Lines(kubectl(ctx, "get", all, "-o", "name")) {
		if strings.Contains(name, "fettle") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// managed applies a File, and returns a function that checks that it is still on the host, and managed or not.
func managed(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(c.Apply(ctx, file(name, "/etc/"+name, "managed\n", "deletionPolicy: Delete"))).To(Succeed())
	ready(ctx, "file/"+name)
	Expect(on(ctx, node, "cat /etc/"+name)).To(Equal("managed\n"))
}

var _ = Describe("Fettle", Label("install"), Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		// The order of docs/deletion.md that shows that all resources are gone.
		kubectl(ctx, "delete", "--ignore-not-found", "--timeout=2m", "-k", installed.tree+"/config/crd")
		kubectl(ctx, "delete", "--ignore-not-found", "--timeout=2m", "-k", installed.overlay)
		Expect(fettleObjects(ctx)).To(BeEmpty())
		DeferCleanup(func(ctx SpecContext) { restoreInstallation(ctx) }, NodeTimeout(8*soon))
	}, NodeTimeout(6*soon))

	It("is installed, tested, upgraded and uninstalled with Helm", func(ctx SpecContext) {
		images := []string{
			"--namespace=fettle-system", "--set=manager.image.repository=localhost/fettle-manager,manager.image.tag=e2e",
			"--set=agent.image.repository=localhost/fettle-nodeagent,agent.image.tag=e2e", "--set=rolloutPolicy.enabled=false",
		}
		older := filepath.Join(GinkgoT().TempDir(), "fettle")
		Expect(os.CopyFS(older, os.DirFS(filepath.Join(checkout, "charts/fettle")))).To(Succeed())
		definition := filepath.Join(older, "templates/generated/crd/fettle.dev_users.yaml")
		text, err := os.ReadFile(definition)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(definition, []byte(strings.Replace(string(text), "shortNames:", "shortNames:\n    - oldname", 1)), 0o644)).To(Succeed())
		shortNames := func() string {
			return kubectl(ctx, "get", "customresourcedefinition", "users.fettle.dev", "-o", "jsonpath={.spec.names.shortNames}")
		}
		DeferCleanup(func(ctx SpecContext) {
			if strings.Contains(kubectl(ctx, "get", "secrets", "-A", "-o", "name"), "sh.helm.release") {
				helm(ctx, "uninstall", "fettle", "--namespace=fettle-system", "--wait")
			}
			kubectl(ctx, "delete", "namespace", "fettle-system", "--ignore-not-found", "--timeout=1m")
			kubectl(ctx, "delete", "--ignore-not-found", "--timeout=1m", "-k", checkout+"/config/crd")
		}, NodeTimeout(5*soon))

		helm(ctx, append([]string{"install", "fettle", older, "--create-namespace"}, images...)...)
		kubectl(ctx, "label", "namespace", "fettle-system", "pod-security.kubernetes.io/enforce=restricted")
		rollout(ctx)
		Expect(shortNames()).To(ContainSubstring("oldname"))
		helm(ctx, "test", "fettle", "--namespace=fettle-system", "--timeout=2m")
		managed(ctx, "e2e-helm")

		helm(ctx, append([]string{"upgrade", "fettle", "charts/fettle", "--set=agent.args={--interval=20m}"}, images...)...)
		rollout(ctx)
		Expect(shortNames()).NotTo(ContainSubstring("oldname"))
		Expect(on(ctx, node, "tr '\\0' ' ' < /proc/$(pgrep -x nodeagent)/cmdline")).To(ContainSubstring("--interval=20m"))
		ready(ctx, "file/e2e-helm")

		helm(ctx, "uninstall", "fettle", "--namespace=fettle-system", "--wait", "--timeout=2m")
		Expect(kubectl(ctx, "get", "files", "-o", "name")).To(Equal("file.fettle.dev/e2e-helm\n"), "definitions and resources stay")
		for _, name := range fettleObjects(ctx) {
			Expect(name).To(Or(HavePrefix("customresourcedefinition"), Equal("namespace/fettle-system"))) // Helm created that one
		}
		kubectl(ctx, "delete", "--timeout=1m", "file", "e2e-helm")
		Expect(on(ctx, node, "cat /etc/e2e-helm")).To(Equal("managed\n"))
	}, NodeTimeout(15*soon))

	It("is installed and uninstalled with install.yaml", func(ctx SpecContext) {
		run(ctx, "make", "install-yaml", "IMAGE_MANAGER=localhost/fettle-manager:e2e", "IMAGE_AGENT=localhost/fettle-nodeagent:e2e")
		manifest := filepath.Join(checkout, "dist/install.yaml")
		run(ctx, "sed", "--in-place", "s/, --default-rollout-policy//", manifest) // as in the quick start
		kubectl(ctx, "apply", "-f", manifest)
		rollout(ctx)
		managed(ctx, "e2e-yaml")
		kubectl(ctx, "delete", "--ignore-not-found", "--timeout=2m", "-f", manifest)
		Expect(fettleObjects(ctx)).To(BeEmpty())
		Expect(on(ctx, node, "cat /etc/e2e-yaml")).To(Equal("managed\n"))
	}, NodeTimeout(8*soon))
})

//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// A version is a version of Fettle that can be installed.
type version struct {
	// tree is a directory with the files of its commit.
	tree string
	// overlay is a kustomization of its config/default, with its images.
	overlay string
	// archives are its images.
	archives []string
}

// kinds are the kinds of Fettle that users apply.
const kinds = "execs,files,groups,notifies,packages,purges,sshauthorizedkeys,systemservices,tidies,users"

// buildImages builds the images of the checkout.
func buildImages(ctx context.Context) {
	GinkgoHelper()
	run(ctx, "make", "image", "ARCHES=amd64", "IMAGE_MANAGER=localhost/fettle-manager:e2e", "IMAGE_AGENT=localhost/fettle-nodeagent:e2e")
}

// checkedOut returns the version of the checkout, whose images are built.
func checkedOut() version {
	GinkgoHelper()
	archives, err := filepath.Glob(filepath.Join(checkout, "dist/images/*-amd64.tar"))
	Expect(err).NotTo(HaveOccurred())
	Expect(archives).To(HaveLen(2))
	return version{checkout, overlay(checkout, map[string]string{"fettle-manager": "localhost/fettle-manager:e2e", "fettle-nodeagent": "localhost/fettle-nodeagent:e2e"}), archives}
}

// at builds the version of a commit. One image has all of its programs, because older commits have a single image.
func at(ctx context.Context, commit string) version {
	GinkgoHelper()
	tree, id := extract(ctx, commit)
	image := "localhost/fettle:" + id
	archive := buildImage(ctx, tree, image, "manager", "nodeagent", "fettle")
	return version{tree, overlay(tree, map[string]string{"fettle": image, "fettle-manager": image, "fettle-nodeagent": image}), []string{archive}}
}

// loadManager builds the manager of a commit, and returns its image, which all nodes then have.
func loadManager(ctx context.Context, commit string) (image string) {
	GinkgoHelper()
	tree, id := extract(ctx, commit)
	image = "localhost/fettle-manager:" + id
	Expect(c.LoadImage(ctx, buildImage(ctx, tree, image, "manager"))).To(Succeed())
	return image
}

// extract returns a directory with the files of a commit, and the short hash of the commit.
func extract(ctx context.Context, commit string) (tree, id string) {
	GinkgoHelper()
	id = strings.TrimSpace(run(ctx, "git", "rev-parse", "--short", "--verify", commit+"^{commit}"))
	tree = GinkgoT().TempDir()
	run(ctx, "sh", "-euc", fmt.Sprintf("git archive %s | tar --extract --directory %s", id, tree))
	return tree, id
}

// buildImage builds programs of a tree into an image that runs the first of them, and returns its archive.
func buildImage(ctx context.Context, tree, image string, programs ...string) (archive string) {
	GinkgoHelper()
	archive = filepath.Join(tree, "dist/fettle.tar")
	pack := []string{"bin/image", "-name", image, "-entrypoint", "/" + programs[0], "-out", archive}
	for _, program := range programs {
		path := filepath.Join(tree, "dist", program)
		run(ctx, "env", "CGO_ENABLED=0", "go", "-C", tree, "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/"+program)
		pack = append(pack, path)
	}
	run(ctx, "make", "bin/image")
	run(ctx, pack...)
	return archive
}

// overlay returns a directory with a kustomization of a tree's config/default that replaces images.
func overlay(tree string, images map[string]string) string {
	GinkgoHelper()
	Expect(os.MkdirAll(filepath.Join(tree, "bin"), 0o755)).To(Succeed())
	dir, err := os.MkdirTemp(filepath.Join(tree, "bin"), "e2e-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	kustomization := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../../config/default]\nimages:\n"
	for name, image := range images {
		newName, newTag, _ := strings.Cut(image, ":")
		kustomization += fmt.Sprintf("  - {name: %s, newName: %s, newTag: %q}\n", name, newName, newTag)
	}
	if _, err := os.Stat(filepath.Join(tree, "config/rollout")); err == nil {
		kustomization += withoutDefaultPolicy
	}
	Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o644)).To(Succeed())
	return dir
}

// withoutDefaultPolicy is the part of a kustomization by which changes reach all nodes at once, unless a spec applies a RolloutPolicy.
const withoutDefaultPolicy = `patches:
  - target: {kind: Deployment, name: fettle-manager}
    patch: |
      - {op: add, path: /spec/template/spec/containers/0/args/-, value: "--default-rollout-policy=false"}
`

// load makes the images of a version available to all nodes.
func (v version) load(ctx context.Context) {
	GinkgoHelper()
	for _, archive := range v.archives {
		Expect(c.LoadImage(ctx, archive)).To(Succeed())
	}
}

// install installs a version, or replaces the installed one by it.
func (v version) install(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "apply", "-k", v.overlay)
	rollout(ctx)
}

// rollout waits until manager and agents run.
func rollout(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "-n", "fettle-system", "rollout", "status", "deployment/fettle-manager", "--timeout=3m")
	kubectl(ctx, "-n", "fettle-nodes", "rollout", "status", "daemonset/fettle-nodeagent", "--timeout=3m")
}

// restoreInstallation installs the version of this run again, also after a deletion that did not finish.
func restoreInstallation(ctx context.Context) {
	GinkgoHelper()
	const deleted = `jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.kind}/{.metadata.name} {end}`
	waiting := strings.Fields(kubectl(ctx, "get", "customresourcedefinitions,namespaces,clusterroles,clusterrolebindings", "-o", deleted))
	if len(waiting) > 0 {
		releaseFinalizers(ctx)
		kubectl(ctx, append([]string{"wait", "--for=delete", "--timeout=1m"}, waiting...)...)
	}
	installed.install(ctx)
}

// releaseFinalizers does what a manager would do that is being uninstalled.
func releaseFinalizers(ctx context.Context) {
	GinkgoHelper()
	release := func(ctx context.Context, namespace, resource string) {
		// What is gone needs no release.
		_, _ = c.Kubectl(ctx, "-n", namespace, "patch", resource, "--type=merge", `--patch={"metadata":{"finalizers":null}}`)
	}
	for _, kind := range append(strings.Split(kinds, ","), "nodecatalogs", "catalogs") {
		names, _ := c.Kubectl(ctx, "get", kind+".fettle.dev", "-o", "name")
		for name := range strings.FieldsSeq(names) {
			release(ctx, "default", name)
		}
	}
	for _, name := range []string{"clusterrolebinding/fettle-manager-kinds", "clusterrole/fettle-manager-kinds", "clusterrolebinding/fettle-manager", "clusterrole/fettle-manager"} {
		release(ctx, "default", name)
	}
	for _, name := range []string{"rolebinding/fettle-manager", "role/fettle-manager", "serviceaccount/fettle-manager"} {
		release(ctx, "fettle-system", name)
		release(ctx, "default", name)
	}
}

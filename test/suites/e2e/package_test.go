//go:build e2e

package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// deb builds a package on the node, with a script that runs when it is configured.
func deb(ctx context.Context, name, version, postinst string) {
	GinkgoHelper()
	on(ctx, node, fmt.Sprintf(`
mkdir -p /srv/%[1]s/DEBIAN
printf 'Package: %[1]s\nVersion: %[2]s\nArchitecture: all\nMaintainer: e2e <e2e@example.invalid>\nDescription: a package for a test\n' > /srv/%[1]s/DEBIAN/control
cat > /srv/%[1]s/DEBIAN/postinst <<'SCRIPT'
#!/bin/sh -e
%[3]s
SCRIPT
chmod 755 /srv/%[1]s/DEBIAN/postinst
dpkg-deb --build /srv/%[1]s /srv/%[1]s_%[2]s.deb`, name, version, postinst))
	DeferCleanup(func(ctx SpecContext) {
		on(ctx, node, "dpkg --purge --force-all "+name+" || true; rm -rf /srv/"+name+"*")
	}, NodeTimeout(soon))
}

// fromFile is a Package on the node from a file that deb built.
func fromFile(name, version string) string {
	return fmt.Sprintf(`{apiVersion: fettle.dev/v1alpha1, kind: Package, metadata: {name: %[1]s}, spec: {nodeSelector: {matchLabels: {kubernetes.io/hostname: %[3]s}}, ensure: %[2]q, source: /srv/%[1]s_%[2]s.deb}}`, name, version, node)
}

var _ = Describe("A Package", Label("package"), func() {
	installed := func(ctx context.Context, name string) string {
		GinkgoHelper()
		return on(ctx, node, "dpkg-query --show --showformat '${Version} ${db:Status-Status}' "+name)
	}

	It("whose postinst fails reports what dpkg says, and recovers with a repaired version", func(ctx SpecContext) {
		const name = "e2e-postinst"
		deb(ctx, name, "1", "echo 'the licence is missing' >&2; exit 7")
		deb(ctx, name, "2", "true")
		apply(ctx, fromFile(name, "1"))
		Eventually(condition(ctx, "package/"+name, "Ready")).WithContext(ctx).Should(ContainSubstring("the licence is missing"))
		Expect(kubectl(ctx, "get", "nodecatalog", node, "-o", `jsonpath={.status.resources[?(@.ref=="Package/`+name+`")].message}`)).To(
			ContainSubstring("post-installation script subprocess returned error exit status 7"))
		Expect(column(ctx, "package/"+name, "FAILED")).To(Equal("1"))
		Expect(c.Apply(ctx, fromFile(name, "2"))).To(Succeed())
		ready(ctx, "package/"+name)
		Expect(installed(ctx, name)).To(Equal("2 installed"))
		Expect(on(ctx, node, "dpkg --audit")).To(BeEmpty())
	}, NodeTimeout(4*soon))

	It("that restarts containerd and kubelet is installed", func(ctx SpecContext) {
		const name = "e2e-runtime"
		before, kubelet := restarts(ctx, "fettle-nodes"), on(ctx, node, "pgrep -x kubelet")
		deb(ctx, name, "1", "systemctl restart containerd kubelet")
		apply(ctx, fromFile(name, "1"))
		ready(ctx, "package/"+name)
		Expect(installed(ctx, name)).To(Equal("1 installed"))
		Expect(on(ctx, node, "pgrep -x kubelet")).NotTo(Equal(kubelet))
		kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=1m", "node/"+node)
		Expect(restarts(ctx, "fettle-nodes")).To(Equal(before))
	}, NodeTimeout(4*soon))
})

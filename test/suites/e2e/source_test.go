//go:build e2e

package e2e_test

import (
	"crypto/tls"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/test/cluster/pki"
)

var _ = Describe("A source over HTTPS", Label("source"), func() {
	It("is trusted if a CA of the host signed its certificate", Label("finding-8"), func(ctx SpecContext) {
		authority, err := pki.New("e2e company CA")
		Expect(err).NotTo(HaveOccurred())
		listener, address, err := c.Listen(8443)
		Expect(err).NotTo(HaveOccurred())
		certificate, key, err := authority.Issue(pki.Identity{Name: "source", Hosts: []string{c.Gateway()}})
		Expect(err).NotTo(HaveOccurred())
		pair, err := tls.X509KeyPair(certificate, key)
		Expect(err).NotTo(HaveOccurred())
		server := &http.Server{
			Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "from the company") }),
			TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}},
			ReadHeaderTimeout: soon,
		}
		go func() { _ = server.ServeTLS(listener, "", "") }()
		DeferCleanup(server.Close)

		apply(ctx, `{apiVersion: fettle.dev/v1alpha1, kind: File, metadata: {name: e2e-source}, spec: {nodeSelector: {matchLabels: {kubernetes.io/hostname: node-1}}, path: /etc/e2e-source, source: "https://`+address+`/file"}}`)
		Eventually(condition(ctx, "file/e2e-source", "Ready")).WithContext(ctx).Should(ContainSubstring("certificate signed by unknown authority"))

		DeferCleanup(func(ctx SpecContext) {
			on(ctx, node, "rm -f /usr/local/share/ca-certificates/e2e.crt; update-ca-certificates")
		}, NodeTimeout(soon))
		on(ctx, node, "cat > /usr/local/share/ca-certificates/e2e.crt <<'PEM'\n"+string(authority.Certificate())+"PEM\nupdate-ca-certificates")
		nudge(ctx, "file/e2e-source")
		ready(ctx, "file/e2e-source")
		Expect(on(ctx, node, "cat /etc/e2e-source")).To(Equal("from the company\n"))
	}, NodeTimeout(3*soon))
})

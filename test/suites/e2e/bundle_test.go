//go:build e2e

package e2e_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// unpack returns the files of a support bundle, by their paths below its only directory.
func unpack(archive string) map[string]string {
	GinkgoHelper()
	f, err := os.Open(archive)
	Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	Expect(err).NotTo(HaveOccurred())
	files := map[string]string{}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		Expect(err).NotTo(HaveOccurred())
		text, err := io.ReadAll(r)
		Expect(err).NotTo(HaveOccurred())
		_, name, _ := strings.Cut(header.Name, "/")
		files[name] = string(text)
	}
}

var _ = Describe("A support bundle", Label("bundle"), func() {
	It("of the cluster has the logs of all pods and no secret", func(ctx SpecContext) {
		const secret, label = "S3cretOfTheSpec", "node-restriction.kubernetes.io/e2e"
		kubectl(ctx, "label", "node", node, label+"=yes")
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, "label", "node", node, label+"-") }, NodeTimeout(soon))
		apply(ctx, `{apiVersion: v1, kind: Secret, metadata: {name: e2e-secret, namespace: default, labels: {fettle.dev/expose-to-nodes: "true"}}, stringData: {key: `+secret+`}}`)
		apply(ctx, `{apiVersion: fettle.dev/v1alpha1, kind: File, metadata: {name: e2e-secret}, spec: {nodeSelector: {matchLabels: {`+label+`: "yes"}},
			path: /etc/e2e-secret, contentFrom: {secretKeyRef: {namespace: default, name: e2e-secret, key: key}}}}`)
		ready(ctx, "file/e2e-secret")
		Expect(on(ctx, node, "cat /etc/e2e-secret")).To(Equal(secret))

		archive := filepath.Join(GinkgoT().TempDir(), "bundle.tar.gz")
		kubectlFettle(ctx, "support-bundle", "cluster", "-o", archive)
		files := unpack(archive)
		Expect(files).NotTo(HaveKey("errors.txt"))
		for namespace, container := range map[string]string{"fettle-system": "manager", "fettle-nodes": "nodeagent"} {
			pods := strings.Fields(kubectl(ctx, "-n", namespace, "get", "pods", "-o", "jsonpath={.items[*].metadata.name}"))
			Expect(pods).NotTo(BeEmpty())
			for _, pod := range pods {
				Expect(files).To(HaveKeyWithValue("cluster/"+namespace+"/logs/"+pod+"/"+container+".log", ContainSubstring(`"level":"INFO"`)))
			}
		}
		token := strings.TrimSpace(on(ctx, node, "cat /proc/$(pgrep -x nodeagent)/root/var/run/secrets/kubernetes.io/serviceaccount/token"))
		for name, text := range files {
			for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), token, "BEGIN CERTIFICATE", "PRIVATE KEY"} {
				Expect(strings.Contains(text, form)).To(BeFalse(), "%s contains %.20s", name, form)
			}
		}
	}, NodeTimeout(4*soon))
})

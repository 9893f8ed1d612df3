//go:build e2e

package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// After a failure, logs and objects are written to a directory of the spec's own.
var _ = JustAfterEach(func(ctx SpecContext) {
	report := CurrentSpecReport()
	if !report.Failed() || c == nil {
		return
	}
	dir := filepath.Join(artifacts(), slug(report.FullText()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		GinkgoWriter.Println("cannot save artifacts:", err)
		return
	}
	collect(ctx, dir)
	AddReportEntry("artifacts", dir, ReportEntryVisibilityAlways)
}, NodeTimeout(soon))

// artifacts is the directory for logs and objects of failed specs.
func artifacts() string {
	if dir := os.Getenv("FETTLE_E2E_ARTIFACTS"); dir != "" {
		return dir
	}
	return filepath.Join(checkout, "dist", "e2e")
}

func collect(ctx context.Context, dir string) {
	for _, n := range c.Nodes() {
		out, err := n.Logs(ctx, "kubelet", "containerd", "kube-proxy", "fettle-nodeagent")
		save(filepath.Join(dir, n.Name+".log"), out, err)
	}
	for name, args := range map[string][]string{
		"objects.txt": {"get", "nodes,pods,deployments,daemonsets,leases,customresourcedefinitions", "-A", "-o", "wide"},
		"fettle.yaml": {"get", "fettle,nodecatalogs,catalogs", "-A", "-o", "yaml"},
		"events.txt":  {"get", "events", "-A", "--sort-by=.lastTimestamp"},
		"pods.txt":    {"describe", "pods", "-A"},
		"manager.log": {"logs", "-n", "fettle-system", "-l", "app.kubernetes.io/name=fettle", "--prefix", "--tail=2000"},
		"agents.log":  {"logs", "-n", "fettle-nodes", "-l", "app.kubernetes.io/name=fettle", "--prefix", "--tail=2000"},
	} {
		out, err := c.Kubectl(ctx, append(args, "--request-timeout=10s")...)
		save(filepath.Join(dir, name), out, err)
	}
}

func save(path, text string, err error) {
	if err != nil {
		text += "\n" + err.Error() + "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		GinkgoWriter.Println("cannot save an artifact:", err)
	}
}

// slug makes a file name of a text.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text)
}

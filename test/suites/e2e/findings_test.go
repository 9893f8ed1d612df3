//go:build e2e

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// After a run with an older commit, a table says which specs failed with it: make e2e-findings.
//
// Specs with a label such as finding-3 show a fault that was found on a real cluster. Each fails with the image and the
// manifests of the commit before it was fixed.
var _ = ReportAfterSuite("findings", func(report Report) {
	if os.Getenv("FETTLE_E2E_COMMIT") == "" {
		return
	}
	var table strings.Builder
	for _, spec := range report.SpecReports {
		for _, label := range spec.Labels() {
			if number, ok := strings.CutPrefix(label, "finding-"); ok && spec.State != 0 && spec.NumAttempts > 0 {
				fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", number, spec.FullText(), spec.State, summary(spec.FailureMessage()))
			}
		}
	}
	if err := os.MkdirAll(artifacts(), 0o755); err != nil {
		GinkgoWriter.Println(err)
	}
	save(filepath.Join(artifacts(), "findings.md"), table.String(), nil)
})

// summary returns the beginning of a message in one line.
func summary(message string) string {
	const limit = 200
	message = strings.Join(strings.Fields(message), " ")
	message = regexp.MustCompile(`^Unexpected error: <[^>]*>: \S*/`).ReplaceAllString(message, "")
	line := []rune(strings.ReplaceAll(message, "|", "\\|"))
	return string(line[:min(len(line), limit)])
}

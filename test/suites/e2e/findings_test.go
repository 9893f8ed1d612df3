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

// Specs with a label such as finding-3 show a fault that was found on the first real cluster. With the images and manifests of
// the commits in hack/findings.sh, before the faults were fixed, each of them fails:
//
//	 1  an update continues after the first bad agent: 2 of 3 nodes are updated, 1 agent is available
//	 2  kubectl apply -k config/samples: the User "deploy" is invalid
//	 3  kubectl delete -k config/default does not end
//	 4  fettle in the agent's pod: cannot disable runs: mkdir /var/lib: read-only file system
//	 5  no pod is admitted to namespaces without a quota, so the rollout of managers does not end
//	 6  the agent's token is valid for a year
//	 7  a command that outlives its agent runs twice, or drift is not corrected meanwhile
//	 8  a certificate that a CA of the host signed is not trusted
//	 9  both managers can be evicted at once, and one that starts without an API server exits
//	10  there is no fettle agent install
//	11  nodecatalogs have no column SILENT
//	12  a second kubectl apply configures objects
//	13  files have no column REASON, and a File without nodes is Ready
//
// After a run with FETTLE_E2E_COMMIT, findings.md among the artifacts has a row for each of these specs: make e2e-findings.
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

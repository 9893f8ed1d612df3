package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Users see reasons in `kubectl get` and in events, and look for them.
func TestTroubleshootingExplainsAllReasons(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join(checkout, "api/v1alpha1/conditions.go"))
	must(t, err)
	text, err := os.ReadFile(filepath.Join(checkout, "docs/troubleshooting.md"))
	must(t, err)
	reasons := regexp.MustCompile(`(?m)^\t(?:Reason|Event)[A-Za-z]+ += "([A-Za-z]+)"`).FindAllSubmatch(source, -1)
	if len(reasons) < 30 {
		t.Fatalf("only %d reasons were found", len(reasons))
	}
	for _, m := range reasons {
		row := regexp.MustCompile("(?m)^\\|[^|]*`" + string(m[1]) + "`[^|]*\\|")
		if !row.Match(text) {
			t.Errorf("docs/troubleshooting.md has no row for %s", m[1])
		}
	}
}

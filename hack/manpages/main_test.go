package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryCommandHasAPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]string{
		"fettle.1":                "brings a machine to the state that resources describe",
		"fettle-apply.1":          "Keep running, and correct drift as it happens.",
		"fettle-bucket-restore.1": "\\fB--to\\fP",
		"kubectl-fettle.1":        "what a change would do",
		"kubectl-fettle-why.1":    "kubectl fettle why KIND/NAME|NODE [flags]",
	} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v, has no %q:\n%s", page, err, want, text)
		}
	}
}

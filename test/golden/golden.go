// Package golden compares what a test has made with a file that was made so before.
//
// FETTLE_GOLDEN=write writes the file instead; then its diff is what is to be reviewed.
package golden

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// YAML fails the test unless a file has an object in it, and no other text.
func YAML(t *testing.T, file string, object any) {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("FETTLE_GOLDEN") == "write" {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(was), string(text)); diff != "" {
		t.Errorf("%s is out of date; FETTLE_GOLDEN=write writes it (-file +made now):\n%s", file, diff)
	}
}

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// structure runs the command on a module with these files.
func structure(t *testing.T, files map[string]string, args ...string) (output string, failed bool) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.com/m\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"run", ".", "-C", dir}, args...)...).CombinedOutput()
	return string(out), err != nil
}

func TestTheTableHasARowForEachPackage(t *testing.T) {
	t.Parallel()

	got, failed := structure(t, map[string]string{
		"api/a.go": "package api\n\nvar A = b\n",
		"api/b.go": "package api\n\nconst b = 1\n",
		"cmd/c.go": "package main\n\nimport _ \"example.com/m/api\"\n\nfunc main() {}\n",
	})
	want := "" +
		"  files  lines  references  back up  package\n" +
		"      2      6           1        0  api\n" +
		"      1      5           0        0  cmd\n"
	if got != want || failed {
		t.Errorf("failed: %t, got:\n%s\nwant:\n%s", failed, got, want)
	}
}

func TestReferencesBackUpAreListedForPackages(t *testing.T) {
	t.Parallel()

	got, failed := structure(t, map[string]string{
		"api/a.go": "package api\n\nfunc a() { b(); c() }\n",
		"api/b.go": "package api\n\nfunc b() { c() }\n",
		"api/c.go": "package api\n\nfunc c() { a() }\n",
	}, "./api")
	if want := "api: c.go refers back up to a.go\n"; failed || !strings.HasSuffix(got, want) {
		t.Errorf("failed: %t, got:\n%s\nwant at its end:\n%s", failed, got, want)
	}
}

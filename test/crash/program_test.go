package crash_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is where the command lies in roots and machines.
const program = "/usr/local/bin/fettle"

// install builds the command into a root.
func install(t *testing.T, root string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(program)), 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(root, program), "../../cmd/fettle")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v\n%s", err, out)
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

package crash_test

import (
	"os"
	"path/filepath"
	"testing"

	programs "github.com/fettle-dev/fettle/test/fixtures/program"
)

// program is the path of the command in roots and machines.
const program = "/usr/local/bin/fettle"

// install builds the command into a root.
func install(t *testing.T, root string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(program)), 0o755); err != nil {
		t.Fatal(err)
	}
	programs.Build(t, "fettle", filepath.Join(root, program))
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

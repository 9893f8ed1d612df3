// Package program is for tests that run the module's own programs.
package program

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build builds a command, as "fettle", into a file. The test's result depends on it.
func Build(t *testing.T, command, file string) {
	t.Helper()
	root := Depend(t)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", file, filepath.Join(root, "cmd", command))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %v\n%s", command, err, out)
	}
}

// Depend has the test's result depend on every file of the module, whose directory it returns. By itself, go test
// takes the last one as long as the test's own packages are the same and the files that
// the test has looked at: it does not see what the programs are made of that it runs.
func Depend(t *testing.T) (root string) {
	t.Helper()
	root = module(t)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == filepath.Join(root, ".git") || path == filepath.Join(root, "bin") || path == filepath.Join(root, "dist"):
			return fs.SkipDir
		case entry.Type().IsRegular():
			_, err = os.Stat(path) // which go test takes note of
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// module is the module's directory.
func module(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("there is no go.mod above the test")
	return ""
}

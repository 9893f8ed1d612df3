//go:build rare

package main_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// copyCheckout copies the checkout without .git and binaries, so that a test can change it.
func copyCheckout(t *testing.T) string {
	t.Helper()
	const root = "../.."
	dir := t.TempDir()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == ".git" || path == "bin":
			return skip(d)
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, path), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		return copyFile(filepath.Join(dir, path), filepath.Join(root, path))
	})
	if err != nil {
		t.Fatalf("cannot copy the checkout: %v", err)
	}
	return dir
}

// skip skips a folder, or .git if it is a file.
func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func copyFile(to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// run runs a command. Builds do not use -trimpath, so that the build cache of other tests is used.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s failed: %v\n%s", cmd, err, out)
	}
}

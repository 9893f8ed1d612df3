package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestARunEndsAlthoughNobodyReadsWhatItSays(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "fettle")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v\n%s", err, out)
	}
	var in strings.Builder
	for n := range 20 {
		fmt.Fprintf(&in, "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: f%[1]d}\nspec: {nodeSelector: {}, path: /f%[1]d, ensure: file}\n---\n", n)
	}
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	cmd := exec.CommandContext(t.Context(), program, "apply", "-f", "-", "--root", root)
	cmd.Stdin, cmd.Stdout = strings.NewReader(in.String()), writer
	if err := cmd.Run(); err != nil {
		t.Errorf("the run failed: %v", err)
	}
	_ = writer.Close()
	made, err := filepath.Glob(filepath.Join(root, "f*"))
	if err != nil || len(made) != 20 {
		t.Errorf("%d of 20 files were made, %v", len(made), err)
	}
}

package main_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

func TestRunFinishesWhenOutputPipeIsClosed(t *testing.T) {
	dir, program := t.TempDir(), build(t)
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
		t.Errorf("%d of 20 files were created, %v", len(made), err)
	}
}

func TestSignalStopsWatchWithExitCodeOfLastRun(t *testing.T) {
	program, root := build(t), t.TempDir()
	const in = "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: a}\nspec: {nodeSelector: {}, path: /a, content: x}\n"
	cmd := exec.CommandContext(t.Context(), program, "apply", "--watch", "-f", "-", "--root", root, "--detailed-exitcodes")
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "1 resource: ") {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("got %v, want exit status 2", err)
	}
}

// build builds the command.
func build(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fettle")
	program.Make(t, "cmd/fettle", file)
	return file
}

// In a chroot without /proc, as created by debootstrap, descriptors can't be reopened and every file would seem to be
// missing.
func TestMissingProcIsAnErrorAndNotMissingResources(t *testing.T) {
	debian.Require(t)
	root := t.TempDir()
	for name, text := range map[string]string{
		"etc/passwd": "web:x:1000:1000::/:/bin/sh\n",
		"web.yaml":   "apiVersion: fettle.dev/v1alpha1\nkind: User\nmetadata: {name: web}\nspec: {nodeSelector: {}}\n",
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(build(t), filepath.Join(root, "fettle")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"apply", "-f", "/web.yaml"}, {"plan", "-f", "/web.yaml"}, {"resource", "User", "web"}, {"facts"}} {
		cmd := exec.CommandContext(t.Context(), "/fettle", args...)
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "mount -t proc proc /proc") {
			t.Errorf("fettle %s: %v\n%s", args, err, out)
		}
	}
}

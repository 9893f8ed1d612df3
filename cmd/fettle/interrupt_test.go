package main_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// sleeping is a run in its own process whose Exec has started to sleep. On a machine with systemd it would do so in a unit.
type sleeping struct {
	cmd    *exec.Cmd
	stderr *bufio.Scanner
	child  int
	root   string
}

func sleep(t *testing.T, program string) sleeping {
	t.Helper()
	root := debian.Root(t)
	pid := filepath.Join(root, "pid")
	in := "apiVersion: fettle.dev/v1alpha1\nkind: Exec\nmetadata: {name: a}\n" +
		"spec: {nodeSelector: {}, shell: true, command: 'echo $$ > /pid.new && mv /pid.new /pid; sleep 300 & wait'}\n"
	cmd := exec.CommandContext(t.Context(), program, "apply", "-f", "-", "--root", root)
	cmd.Stdin = strings.NewReader(in)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := sleeping{cmd: cmd, stderr: bufio.NewScanner(stderr), root: root}
	until(t, "the command runs", func() bool {
		text, err := os.ReadFile(pid)
		s.child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	t.Cleanup(func() { _ = syscall.Kill(-s.child, syscall.SIGKILL) }) // it has ended unless the test failed
	return s
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	patient.Until(t, what, holds)
}

func (s sleeping) signal(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
}

func TestSecondSignalKillsRunningCommands(t *testing.T) {
	s := sleep(t, build(t))
	s.signal(t)
	if !s.stderr.Scan() || s.stderr.Text() != "finishing Exec/a; press again to abort" {
		t.Errorf("after the first signal: %q", s.stderr.Text())
	}
	if err := syscall.Kill(s.child, 0); err != nil {
		t.Errorf("the first signal ended the command: %v", err)
	}
	s.signal(t)
	var said []string
	for s.stderr.Scan() {
		said = append(said, s.stderr.Text())
	}
	if err := s.cmd.Wait(); s.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("got %v, want exit status 1", err)
	}
	until(t, "the process group is gone", func() bool { return errors.Is(syscall.Kill(-s.child, 0), syscall.ESRCH) })
	if all := strings.Join(said, "\n"); !strings.Contains(all, "Exec/a: command failed: ") || !strings.Contains(all, "killed") {
		t.Errorf("stderr:\n%s", all)
	}
}

func TestSignalStopsRunThatWaitsForManifests(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), build(t), "plan", "-f", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(patient.Limit, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	// A write larger than the pipe's buffer ends only once the program reads stdin, and so handles signals.
	if _, err := io.WriteString(in, strings.Repeat("# more to come\n", 1<<16)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	lines.Scan()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(lines.Text(), "stopped by a signal before the end") {
		t.Errorf("got %v, %q", err, lines.Text())
	}
}

// Every command, and help, reports lost output.
func TestEveryCommandFailsWhenOutputDiskIsFull(t *testing.T) {
	program, root := build(t), t.TempDir()
	const in = "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: a}\nspec: {nodeSelector: {}, path: /a, ensure: file}\n"
	keep := filepath.Join(root, "b")
	if err := os.WriteFile(keep, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	replace := exec.CommandContext(t.Context(), program, "apply", "-f", "-", "--root", root)
	replace.Stdin = strings.NewReader(strings.NewReplacer("/a", "/b", "ensure: file", "content: new").Replace(in))
	if out, err := replace.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	listed, err := exec.CommandContext(t.Context(), program, "bucket", "list", "--root", root).Output()
	if err != nil {
		t.Fatal(err)
	}
	sum, _, _ := strings.Cut(string(listed), " ")
	for _, call := range []string{
		"--help", "--version", "help apply", "completion bash", "__complete describe f",
		"plan -f - --root ROOT", "plan -f - --root ROOT -o json", "plan -f - --root ROOT -o yaml", "plan -f - --root ROOT --detailed-exitcodes",
		"apply -f - --root ROOT", "validate -f -", "graph -f -", "describe --root ROOT", "describe file --root ROOT",
		"facts --root ROOT", "facts kernel --root ROOT", "facts -o json --root ROOT",
		"resource file /a --root ROOT", "resource file /a ensure=file -o json --root ROOT",
		"bucket list --root ROOT", "bucket list -o json --root ROOT", "bucket get SUM --root ROOT", "bucket diff SUM /b --root ROOT",
		"bucket restore SUM --root ROOT",
		"disable why --root ROOT", "enable --root ROOT",
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(strings.NewReplacer("ROOT", root, "SUM", sum).Replace(call))...)
		var stderr strings.Builder
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), full, &stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%s: %v: %s", call, err, &stderr)
		}
		_ = full.Close()
	}
}

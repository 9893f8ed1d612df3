package main_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onTerminal returns what a run prints on a terminal.
func onTerminal(t *testing.T, program, root string, env ...string) string {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "apply", "-f", "-", "--root", root)
	cmd.Stdin = strings.NewReader("apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: a}\nspec: {nodeSelector: {}, path: /a, content: x}\n")
	cmd.Stdout, cmd.Stderr = terminal, terminal
	cmd.Env = env
	err = cmd.Start()
	_ = terminal.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(screen) // it ends with EIO once nobody has the terminal open
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return string(out)
}

func TestOutputOnADumbTerminalIsPlain(t *testing.T) {
	program := build(t)
	const escape = "\x1b"
	if out := onTerminal(t, program, t.TempDir(), "TERM=xterm"); !strings.Contains(out, escape) {
		t.Errorf("neither colors nor progress on a terminal: %q", out)
	}
	if out := onTerminal(t, program, t.TempDir(), "TERM=dumb"); strings.Contains(out, escape) || !strings.Contains(out, "File/a: created\r\n") {
		t.Errorf("with TERM=dumb: %q", out)
	}
}

package main_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/test/debian"
)

func TestMachineLivesAsLongAsItsCommand(t *testing.T) {
	debian.Require(t)
	dir := t.TempDir()
	command := filepath.Join(dir, "machine")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", command, ".").CombinedOutput(); err != nil {
		t.Fatalf("cannot build the command: %v\n%s", err, out)
	}
	boot := exec.CommandContext(t.Context(), command, "boot", "-hostname", "web-1", "-ready", dir)
	boot.Cancel = func() error { return boot.Process.Signal(syscall.SIGTERM) }
	boot.WaitDelay = 30 * time.Second
	boot.Stderr = os.Stderr
	if err := boot.Start(); err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(waitForFile(t, filepath.Join(dir, "pid")))
	root, err := os.Readlink(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	hostname, err := os.ReadFile(filepath.Join(root, "etc/hostname"))
	if err != nil || string(hostname) != "web-1\n" {
		t.Errorf("the machine is called %q %v", hostname, err)
	}

	if err := boot.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := boot.Wait(); err != nil {
		t.Errorf("the command should end well: %v", err)
	}
	for _, path := range []string{"/proc/" + pid, root} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	debian.Require(t)
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", "reboot")
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	err := cmd.Run()

	first, _ := bufio.NewReader(stderr).ReadString('\n')
	if want := "machine: cannot do \"reboot\"\n"; err == nil || first != want {
		t.Errorf("got %v and %q, want an exit status and %q", err, first, want)
	}
}

// waitForFile returns the content of a file as soon as it is there.
func waitForFile(t *testing.T, path string) string {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if content, err := os.ReadFile(path); err == nil {
			return string(content)
		}
	}
	t.Fatalf("%s did not appear", path)
	return ""
}

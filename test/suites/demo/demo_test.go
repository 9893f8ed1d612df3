// Package demo_test runs the demo, which uses all of Fettle on real machines.
//
// The demo itself waits for each result and fails if one does not occur.
package demo_test

import (
	"bytes"
	"fmt"
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
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

func TestDemoCompletesAndCleansUp(t *testing.T) {
	debian.Require(t)
	network := "fettle-demo-" + strconv.Itoa(os.Getpid())
	out := runDemo(t, "NETNS="+network)

	for _, line := range []string{
		"$ kubectl apply -f config/samples",
		"corrective: true",
		"$ kubectl fettle status\nNodes          2 total, 2 in sync\n",
		"$ kubectl fettle diff web-2\nExec/first-seen: not checked: a question starts no command of an Exec\nFile/motd: content changed ",
		"+web-2 is maintained on Sundays.\n",
		"is halted: 1 of 1 admitted node failed",
		"== Zones and records of a DNS server: kinds that a program in Python manages",
		"== Resources are deleted, and their deletionPolicy cleans up the hosts",
		"== Clearing up",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("the demo does not print %q; output:\n%s", line, out)
		}
	}
	expectNothingLeft(t, network)
}

// runDemo runs the demo to its end and returns its output.
func runDemo(t *testing.T, env ...string) string {
	t.Helper()
	program.Depend(t)
	demo := exec.CommandContext(t.Context(), "../../../hack/demo/run.sh")
	demo.Env = append(append(os.Environ(), fmt.Sprintf("PATIENCE=%.0f", patient.Limit.Seconds())), env...)
	demo.Cancel = func() error { return demo.Process.Signal(syscall.SIGTERM) }
	demo.WaitDelay = time.Minute
	var out bytes.Buffer
	demo.Stdout, demo.Stderr = &out, &out
	if err := demo.Run(); err != nil {
		t.Fatalf("the demo fails: %v\n%s", err, out.String())
	}
	return out.String()
}

func expectNothingLeft(t *testing.T, network string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join("/run/netns", network)); !os.IsNotExist(err) {
		t.Errorf("the network namespace is left: %v", err)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(command), network+".run.") {
			t.Errorf("a process is left: %q", command)
		}
	}
}

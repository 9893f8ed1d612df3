package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// A probe is the exit code and the output of a probe command.
func runProbe(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"probe"}, args...)...)
	cmd.Env = append(os.Environ(), asAgent+"=1")
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestProbesFollowTheFirstRun(t *testing.T) {
	root := debian.Root(t)
	write(t, filepath.Join(root, "check"), check)
	remember(t, filepath.Join(root, state.DefaultDir), []v1alpha1.CatalogEntry{
		file(map[string]string{"path": "/etc/slow", "content": "slow\n", "validateCmd": "/bin/sh /check %"}),
	})
	socket := filepath.Join(t.TempDir(), "agent.sock")
	ask := func(what string) (int, string) { return runProbe(t, "--socket="+socket, what) }

	if code, out := ask("live"); code != 1 || !strings.Contains(out, "the agent does not answer") {
		t.Errorf("before the start: %d, %s", code, out)
	}
	agent := start(t, root, "--probe-socket="+socket)
	wait(t, agent, filepath.Join(root, "checked"))
	for what, want := range map[string]int{"live": 0, "ready": 1, "started": 1} {
		if code, out := ask(what); code != want || want == 1 && out != "nodeagent: no run has finished since the start\n" {
			t.Errorf("during the first run: %s: %d, %s", what, code, out)
		}
	}
	write(t, filepath.Join(root, "go-on"), "")
	wait(t, agent, filepath.Join(root, "etc/slow"))
	until(t, agent, "the agent is ready", func() bool { code, _ := ask("ready"); return code == 0 })
	for _, what := range []string{"live", "started"} {
		if code, out := ask(what); code != 0 {
			t.Errorf("after the first run: %s: %d, %s", what, code, out)
		}
	}
	must(t, agent.Process.Signal(syscall.SIGTERM))
	must(t, agent.Wait())
}

func TestProbeReportsInvalidUse(t *testing.T) {
	for want, args := range map[string][]string{
		"nodeagent: probe requires one of started, ready, live and acting: got []\n":            {},
		"nodeagent: probe requires one of started, ready, live and acting: got [\"a\" \"b\"]\n": {"a", "b"},
	} {
		if code, out := runProbe(t, args...); code != 1 || out != want {
			t.Errorf("%q: %d, %s", args, code, out)
		}
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/internal/version"
)

func TestSecondAgentWaitsAndTakesOver(t *testing.T) {
	for name, end := range map[string]os.Signal{"when the first one stops": syscall.SIGTERM, "when the first one is killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			root, sockets := t.TempDir(), t.TempDir()
			remember(t, filepath.Join(root, state.DefaultDir), []v1alpha1.CatalogEntry{file(map[string]string{"path": "/a", "content": "a\n"})})
			probe := func(agent, what string) (int, string) {
				return runProbe(t, "--socket="+filepath.Join(sockets, agent), what)
			}
			first := start(t, root, "--probe-socket="+filepath.Join(sockets, "first"), "--watch=false")
			wait(t, first, filepath.Join(root, "a"))
			must(t, os.Remove(filepath.Join(root, "a")))
			second := start(t, root, "--probe-socket="+filepath.Join(sockets, "second"), "--watch=false")
			until(t, second, "the second agent is ready", func() bool { code, _ := probe("second", "ready"); return code == 0 })
			want := fmt.Sprintf("nodeagent: another agent acts on this host: nodeagent %s, process %d\n", version.String(), first.Process.Pid)
			if code, out := probe("second", "acting"); code != 1 || out != want {
				t.Errorf("the second agent waits: %d, %s, want %s", code, out, want)
			}
			for _, p := range [][2]string{{"first", "acting"}, {"second", "live"}} {
				if code, out := probe(p[0], p[1]); code != 0 {
					t.Errorf("%v: %s", p, out)
				}
			}

			must(t, first.Process.Signal(end))
			_ = first.Wait()
			until(t, second, "the second agent acts", func() bool { code, _ := probe("second", "acting"); return code == 0 })
			wait(t, second, filepath.Join(root, "a"))
			must(t, second.Process.Signal(syscall.SIGTERM))
			must(t, second.Wait())
		})
	}
}

func TestWaitingAgentStops(t *testing.T) {
	root := t.TempDir()
	lock, err := state.TryLockAgent(filepath.Join(root, state.DefaultDir), "another")
	must(t, err)
	defer lock.Unlock() //nolint:errcheck // the test is over
	socket := filepath.Join(t.TempDir(), "socket")
	agent := start(t, root, "--probe-socket="+socket)
	until(t, agent, "the agent waits", func() bool {
		_, out := runProbe(t, "--socket="+socket, "acting")
		return strings.Contains(out, "another agent acts on this host: another")
	})
	must(t, agent.Process.Signal(syscall.SIGTERM))
	must(t, agent.Wait())
}

func TestAgentActsIfTheLockCannotBeTaken(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, state.DefaultDir)
	remember(t, dir, []v1alpha1.CatalogEntry{file(map[string]string{"path": "/a", "content": "a\n"})})
	must(t, os.Mkdir(filepath.Join(dir, "agent.lock"), 0o700))
	agent := start(t, root)
	wait(t, agent, filepath.Join(root, "a"))
	must(t, agent.Process.Signal(syscall.SIGTERM))
	must(t, agent.Wait())
}

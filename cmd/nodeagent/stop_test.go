package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// asAgent names the variable that makes the test binary run as the agent.
const asAgent = "FETTLE_TEST_AS_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const (
	// nowhere is the kubeconfig of a cluster whose API server is unreachable.
	nowhere = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: none}}]}`
	// check is a validateCmd that succeeds on request.
	check = `echo checked >> /checked; while [ ! -e /go-on ]; do sleep 0.5; done`
)

func TestStoppedAgentFinishesResourceInProgress(t *testing.T) {
	root := debian.Root(t)
	write(t, filepath.Join(root, "check"), check)
	dir := filepath.Join(root, state.DefaultDir)
	then := file(map[string]string{"path": "/etc/then", "content": "then\n"})
	then.Edges = &v1alpha1.Edges{Require: []v1alpha1.ResourceRef{"File//etc/slow"}}
	remember(t, dir, []v1alpha1.CatalogEntry{
		file(map[string]string{"path": "/etc/slow", "content": "slow\n", "validateCmd": "/bin/sh /check %"}),
		then,
	})

	agent := start(t, root)
	wait(t, agent, filepath.Join(root, "checked"))
	must(t, agent.Process.Signal(syscall.SIGTERM))
	write(t, filepath.Join(root, "go-on"), "")
	must(t, agent.Wait())
	first := []string{read(root, "/checked"), read(root, "/etc/slow"), read(root, "/etc/then")}
	if diff := cmp.Diff([]string{"checked\n", "slow\n", "(missing)"}, first); diff != "" {
		t.Errorf("after the stop (-want +got):\n%s", diff)
	}
	if store, err := state.OpenReadOnly(dir, state.Options{Source: state.Cluster}); err != nil || store.Observed(resource.Ref{Kind: "File", Name: "/etc/slow"}) == nil {
		t.Errorf("the finished resource is not in the state: %v", err)
	}

	agent = start(t, root)
	wait(t, agent, filepath.Join(root, "etc/then"))
	must(t, agent.Process.Signal(syscall.SIGTERM))
	must(t, agent.Wait())
	second := []string{read(root, "/checked"), read(root, "/etc/slow"), read(root, "/etc/then")}
	if diff := cmp.Diff([]string{"checked\n", "slow\n", "then\n"}, second); diff != "" {
		t.Errorf("after the second start (-want +got):\n%s", diff)
	}
}

// remember saves the last good catalog of an agent in a state directory.
func remember(t *testing.T, dir string, entries []v1alpha1.CatalogEntry) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"uid": "1", "generation": 1, "spec": v1alpha1.NodeCatalogSpec{Entries: entries}})
	must(t, err)
	must(t, state.NewDocuments(dir, "catalogs", state.Options{}).Put("nodecatalog", text))
}

func file(attributes map[string]string) v1alpha1.CatalogEntry {
	raw, _ := json.Marshal(attributes)
	return v1alpha1.CatalogEntry{Kind: "File", Name: attributes["path"], Attributes: &runtime.RawExtension{Raw: raw}}
}

func start(t *testing.T, root string, flags ...string) *exec.Cmd {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config")
	write(t, config, nowhere)
	agent := exec.Command(os.Args[0], append([]string{"--node-name=web-1", "--kubeconfig=" + config, "--root=" + root, "--splay=0s"}, flags...)...)
	agent.Env = append(os.Environ(), asAgent+"=1")
	agent.Stderr = t.Output()
	must(t, agent.Start())
	t.Cleanup(func() { _ = agent.Process.Kill() }) // it has ended, unless the test failed
	return agent
}

// wait waits until a file exists.
func wait(t *testing.T, agent *exec.Cmd, path string) {
	t.Helper()
	until(t, agent, path+" exists", func() bool {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return false
		}
		must(t, err)
		return true
	})
}

// until waits until something holds.
func until(t *testing.T, agent *exec.Cmd, what string, holds func() bool) {
	t.Helper()
	const limit, poll = patient.Limit, 20 * time.Millisecond
	deadline := time.After(limit)
	for !holds() {
		select {
		case <-deadline:
			_ = agent.Process.Kill()
			t.Fatalf("not so after %s: %s", limit, what)
		case <-time.After(poll):
		}
	}
}

func read(root, path string) string {
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return "(missing)"
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

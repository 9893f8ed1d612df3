package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/test/benchmarks/bench"
	"github.com/fettle-dev/fettle/test/fixtures/freeport"
)

// An agentSample has the costs of an agent in sync.
type agentSample struct {
	perRun time.Duration // of processor time, its commands' included
	peak   int64         // bytes
}

const (
	agentNode  = "bench"
	agentState = "/var/lib/bench-agent"
	agentRuns  = 20
)

// noCluster is a kubeconfig with a server that does not exist.
const noCluster = `apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
users: [{name: none}]
`

// runAgent measures a nodeagent, chrooted in the root, that has its catalog on disk and no API server.
func (l *lab) runAgent(ctx context.Context, s desired) agentSample {
	l.giveCatalog(ctx, s)
	metrics, err := freeport.Address()
	l.Must(err)
	cmd := exec.CommandContext(ctx, "/usr/local/bin/nodeagent", "-node-name", agentNode, "-kubeconfig", inputDir+"/kubeconfig",
		"-state-dir", agentState, "-interval", "1s", "-splay", "0s", "-spread", "0s", "-log-level", "error", "-metrics-bind-address", metrics)
	cmd.Dir, cmd.SysProcAttr, cmd.Env = "/", &syscall.SysProcAttr{Chroot: l.root}, environment()
	cmd.Stderr = os.Stderr
	l.Must(cmd.Start())
	defer func() { l.Warn(errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())) }()
	return l.measureAgent(ctx, cmd.Process.Pid, metrics)
}

// giveCatalog compiles the state, as a manager does, and puts it where an agent keeps its last good catalog.
func (l *lab) giveCatalog(ctx context.Context, s desired) {
	result, err := bench.Compile(ctx, agentNode, s.fettle())
	l.Must(err)
	dir := filepath.Join(l.root, agentState)
	l.Must(os.RemoveAll(dir))
	documents := map[string]any{"nodecatalog": map[string]any{"uid": agentNode, "generation": 1, "spec": result.Nodes[agentNode].Spec}}
	for name, c := range result.Catalogs {
		documents[name] = v1alpha1.Catalog{Count: c.Count, Entries: c.Entries}
	}
	disk := state.NewDocuments(dir, "catalogs", state.Options{})
	for name, document := range documents {
		body, err := json.Marshal(document)
		l.Must(err)
		l.Must(disk.Put(name, body))
	}
	l.Must(os.WriteFile(filepath.Join(l.root, inputDir, "kubeconfig"), []byte(noCluster), 0o600))
}

// measureAgent measures many runs, except the first ones, which fill caches.
func (l *lab) measureAgent(ctx context.Context, pid int, metrics string) agentSample {
	const warm = 3
	first := l.awaitRuns(ctx, metrics, warm)
	before, err := bench.UsageOf(pid)
	l.Must(err)
	runs := l.awaitRuns(ctx, metrics, first+agentRuns) - first
	after, err := bench.UsageOf(pid)
	l.Must(err)
	return agentSample{(after.CPU + after.Commands - before.CPU - before.Commands) / time.Duration(runs), after.Peak}
}

// pollInterval is how often the agent is asked for its runs, which takes its processor time, too.
const pollInterval = time.Second

// awaitRuns returns once there were so many runs, or more, and how many. All must have found everything in sync.
func (l *lab) awaitRuns(ctx context.Context, metrics string, enough int) (quiet int) {
	l.Until(ctx, fmt.Sprintf("%d runs of the agent", enough), pollInterval, func() bool {
		runs, err := bench.AgentRuns(ctx, metrics)
		if !errors.Is(err, syscall.ECONNREFUSED) { // it has just been started
			l.Must(err)
		}
		quiet = runs["unchanged"]
		delete(runs, "unchanged")
		for status, n := range runs {
			if n > 0 {
				l.Fatalf("%d runs of the agent were %s", n, status)
			}
		}
		return quiet >= enough
	})
	return quiet
}

func agentSection(b *strings.Builder, t table) {
	const perDay = int64(24 * time.Hour / nodeagent.DefaultInterval)
	fmt.Fprintf(b, "\n### %d files, the agent's run\n\n| processor time of a run | of a day's %d runs | peak memory |\n|--:|--:|--:|\n", t.files, perDay)
	fmt.Fprintf(b, "| %s | %.1f s | %s |\n", bench.Milliseconds(t.agent.perRun), (t.agent.perRun * time.Duration(perDay)).Seconds(), bench.MB(t.agent.peak))
}

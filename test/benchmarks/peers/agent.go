package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/freeport"
)

// An agentSample has the costs of an agent in sync.
type agentSample struct {
	perRun time.Duration // of processor time, its commands' included
	peakKB int64
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

// agent measures a nodeagent, chrooted in the root, that has its catalog on disk and no API server.
func (l *lab) agent(ctx context.Context, s desired) (sample agentSample, err error) {
	if err := l.giveCatalog(ctx, s); err != nil {
		return sample, err
	}
	metrics, err := freeport.Address()
	if err != nil {
		return sample, err
	}
	cmd := exec.CommandContext(ctx, "/usr/local/bin/nodeagent", "-node-name", agentNode, "-kubeconfig", inputDir+"/kubeconfig",
		"-state-dir", agentState, "-interval", "1s", "-splay", "0s", "-spread", "0s", "-log-level", "error", "-metrics-bind-address", metrics)
	cmd.Dir, cmd.SysProcAttr, cmd.Env = "/", &syscall.SysProcAttr{Chroot: l.root}, environment()
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return sample, err
	}
	defer func() { err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()) }()
	process, err := procfs.NewProc(cmd.Process.Pid)
	if err != nil {
		return sample, err
	}
	return measureAgent(ctx, process, "http://"+metrics+"/metrics")
}

// giveCatalog compiles the state, as a manager does, and puts it where an agent keeps its last good catalog.
func (l *lab) giveCatalog(ctx context.Context, s desired) error {
	text := []byte(s.fettle())
	set := manifest.Read(ctx, []source.Source{{Name: "state.yaml", Read: func(context.Context) ([]byte, error) { return text, nil }}}, nil)
	if len(set.Faults) > 0 {
		return set.Faults[0]
	}
	result := compiler.Compile(compiler.Input{Nodes: []compiler.Node{{Name: agentNode}}, Resources: set.Resources(), Kinds: providers.Kinds()})
	dir := filepath.Join(l.root, agentState)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	documents := map[string]any{"nodecatalog": map[string]any{"uid": agentNode, "generation": 1, "spec": result.Nodes[agentNode].Spec}}
	for name, c := range result.Catalogs {
		documents[name] = v1alpha1.Catalog{Count: c.Count, Entries: c.Entries}
	}
	disk := state.NewDocuments(dir, "catalogs", state.Options{})
	for name, document := range documents {
		body, err := json.Marshal(document)
		if err == nil {
			err = disk.Put(name, body)
		}
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(l.root, inputDir, "kubeconfig"), []byte(noCluster), 0o600)
}

// measureAgent measures many runs, except the first ones, which fill caches.
func measureAgent(ctx context.Context, process procfs.Proc, metrics string) (agentSample, error) {
	const warm = 3
	first, err := awaitRuns(ctx, metrics, warm)
	if err != nil {
		return agentSample{}, err
	}
	before, err := used(process)
	if err != nil {
		return agentSample{}, err
	}
	last, err := awaitRuns(ctx, metrics, first+agentRuns)
	if err != nil {
		return agentSample{}, err
	}
	after, err := used(process)
	if err != nil {
		return agentSample{}, err
	}
	status, err := process.NewStatus()
	return agentSample{(after - before) / time.Duration(last-first), int64(status.VmHWM >> 10)}, err
}

// used is the processor time of a process and of the commands that it ran.
func used(process procfs.Proc) (time.Duration, error) {
	stat, err := process.Stat()
	ticks := int64(stat.UTime) + int64(stat.STime) + int64(stat.CUTime) + int64(stat.CSTime)
	const tick = time.Second / 100 // of the kernel's interface
	return time.Duration(ticks) * tick, err
}

// awaitRuns returns once there were so many runs, or more, and how many. All must have found everything in sync.
func awaitRuns(ctx context.Context, metrics string, enough int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("the agent made fewer than %d runs: %w", enough, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
		quiet, others, err := runsOf(ctx, metrics)
		switch {
		case err != nil && !errors.Is(err, syscall.ECONNREFUSED): // it has just been started
			return 0, err
		case others > 0:
			return 0, fmt.Errorf("%d runs of the agent did not find all in sync", others)
		case quiet >= enough:
			return quiet, nil
		}
	}
}

// runsOf asks an agent how many runs it made that found all in sync, and how many others.
func runsOf(ctx context.Context, metrics string) (quiet, others int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metrics, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, 0, err
	}
	for _, m := range families["fettle_runs_total"].GetMetric() {
		n := int(m.GetCounter().GetValue())
		if m.GetLabel()[0].GetValue() == "unchanged" {
			quiet += n
		} else {
			others += n
		}
	}
	return quiet, others, nil
}

func agentSection(b *strings.Builder, t table) {
	const perDay = int64(24 * time.Hour / nodeagent.DefaultInterval)
	fmt.Fprintf(b, "\n### %d files, the agent's run\n\n| processor time of a run | of a day's %d runs | peak memory |\n|--:|--:|--:|\n", t.files, perDay)
	fmt.Fprintf(b, "| %.1f ms | %.1f s | %.1f MB |\n", ms(t.agent.perRun), (t.agent.perRun * time.Duration(perDay)).Seconds(), float64(t.agent.peakKB)/1024)
}

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/benchmarks/stage"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/freeport"
)

const (
	node   = "bench"
	folder = "/srv/bench" // of the files
	up     = "/run/bench-up"
	unit   = "[Service]\nExecStart=/bin/sh -c 'touch " + up + "; exec sleep infinity'\nExecStopPost=/bin/rm -f " + up + "\n"
	// content is 1 KB.
	content = "a line of a file of 64 bytes, which configures some program: yes\n"
	shell   = "/bin/bash"
	marker  = "/usr/share/bench-package"
)

func text(i int) string { return fmt.Sprintf("# %d\n%s", i, strings.Repeat(content, 16)) }

func name(i int) string { return fmt.Sprintf("file-%05d", i) }

// A lab is a machine, and an API server with its NodeCatalog.
type lab struct {
	*stage.Stage
	options
	machine    *debian.Machine
	admin      client.Client
	kubeconfig string
}

func newLab(ctx context.Context, s *stage.Stage, o options) *lab {
	m, err := debian.Start(ctx, debian.Spec{Prepare: prepare}, os.Stderr)
	s.Must(err)
	s.Cleanup(func() { s.Warn(m.Stop()) })
	_, err = m.Run(ctx, "apt-get", "--quiet", "update")
	s.Must(err)
	cfg, _ := controlplane.Start(s)
	l := &lab{Stage: s, options: o, machine: m, admin: controlplane.Admin(s, cfg)}
	dir, err := os.MkdirTemp("", "bench-drift-")
	s.Must(err)
	s.Cleanup(func() { s.Warn(os.RemoveAll(dir)) })
	l.kubeconfig = filepath.Join(dir, "kubeconfig")
	s.Must(controlplane.WriteKubeconfig(l.kubeconfig, cfg, ""))
	l.publish(ctx)
	return l
}

// prepare gives the machine a package to install, and a unit.
func prepare(root string) error {
	if err := os.WriteFile(filepath.Join(root, "etc/systemd/system/bench.service"), []byte(unit), 0o644); err != nil {
		return err
	}
	return debian.WriteRepository(root, debian.Deb{Name: "bench-package", Version: "1", Files: map[string]string{marker: "x\n"}})
}

// manifests are the desired state.
func (o options) manifests() string {
	var b strings.Builder
	document := func(kind, name, spec string, args ...any) {
		fmt.Fprintf(&b, "---\napiVersion: fettle.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n  nodeSelector: {}\n", kind, name)
		fmt.Fprintf(&b, spec, args...)
	}
	document("File", "bench", "  path: %s\n  ensure: directory\n", folder)
	for i := range o.files {
		document("File", name(i), "  path: %s/%s\n  content: %q\n", folder, name(i), text(i))
	}
	document("User", "bench", "  uid: 3000\n  gid: \"100\"\n  home: /home/bench\n  shell: %s\n", shell)
	document("SystemService", "bench", "  ensure: running\n")
	document("Package", "bench-package", "  ensure: present\n")
	return b.String()
}

// publish gives the API server what a manager would.
func (l *lab) publish(ctx context.Context) {
	state := []byte(l.manifests())
	set := manifest.Read(ctx, []source.Source{{Name: "state.yaml", Read: func(context.Context) ([]byte, error) { return state, nil }}}, nil)
	if len(set.Faults) > 0 {
		l.Must(set.Faults[0])
	}
	result := compiler.Compile(compiler.Input{Nodes: []compiler.Node{{Name: node}}, Resources: set.Resources(), Kinds: providers.Kinds()})
	for name, c := range result.Catalogs {
		l.Must(l.admin.Create(ctx, &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: name}, Count: c.Count, Entries: c.Entries}))
	}
	l.Must(l.admin.Create(ctx, &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: result.Nodes[node].Spec}))
}

// path is that of a file of the machine, for this process.
func (l *lab) path(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", l.machine.PID()), name)
}

// startAgent starts an agent, and returns once it has run, and had time to check its changes again.
func (l *lab) startAgent(ctx context.Context) (procfs.Proc, func()) {
	address, err := freeport.Address()
	l.Must(err)
	p, stop := l.start(exec.CommandContext(ctx, l.agent, "-node-name", node, "-kubeconfig", l.kubeconfig, "-metrics-bind-address", address,
		"-host-pid", fmt.Sprint(l.machine.PID()), "-state-dir", "/var/lib/bench", "-splay", "0s", "-spread", "0s", "-log-level", "error"))
	l.until(ctx, "the first run of the agent", func() bool { return hasRun(ctx, "http://"+address+"/metrics") })
	l.pause(ctx, calm)
	return p, stop
}

// hasRun asks an agent's metrics whether it has run without a failure.
func hasRun(ctx context.Context, metrics string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metrics, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false // it does not listen yet
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body) // what is missing is awaited
	return regexp.MustCompile(`(?m)^fettle_runs_total\{status="(un)?changed"\}`).Match(text)
}

// start starts a program, and returns its process and what ends it.
func (l *lab) start(cmd *exec.Cmd) (procfs.Proc, func()) {
	cmd.Stderr, cmd.Stdout = os.Stderr, os.Stderr
	l.Must(cmd.Start())
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was told to end
	}
	p, err := procfs.NewProc(cmd.Process.Pid)
	if err != nil {
		stop()
	}
	l.Must(err)
	return p, stop
}

const (
	patience = 2 * time.Minute
	calm     = 3 * time.Second // in which an agent checks its changes again
	tick     = 100 * time.Microsecond
)

// until returns once something holds.
func (l *lab) until(ctx context.Context, what string, holds func() bool) {
	for deadline := time.Now().Add(patience); !holds(); l.pause(ctx, tick) {
		if time.Now().After(deadline) {
			l.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func (l *lab) pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
		l.Must(ctx.Err())
	case <-time.After(d):
	}
}

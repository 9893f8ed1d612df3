package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/benchmarks/bench"
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
	*bench.Stage
	options
	machine    *debian.Machine
	admin      client.Client
	kubeconfig string
}

func newLab(ctx context.Context, s *bench.Stage, o options) *lab {
	m, err := debian.Start(ctx, debian.Spec{Prepare: prepare}, os.Stderr)
	s.Must(err)
	s.Cleanup(func() { s.Warn(m.Stop()) })
	_, err = m.Run(ctx, "apt-get", "--quiet", "update")
	s.Must(err)
	cfg, _ := controlplane.Start(s)
	l := &lab{Stage: s, options: o, machine: m, admin: controlplane.Admin(s, cfg), kubeconfig: filepath.Join(s.TempDir(""), "kubeconfig")}
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
	var m bench.Manifests
	m.Add("File", "bench", "path: %s\nensure: directory", folder)
	for i := range o.files {
		m.Add("File", name(i), "path: %s/%s\ncontent: %q", folder, name(i), text(i))
	}
	m.Add("User", "bench", "uid: 3000\ngid: \"100\"\nhome: /home/bench\nshell: %s", shell)
	m.Add("SystemService", "bench", "ensure: running")
	m.Add("Package", "bench-package", "ensure: present")
	return m.String()
}

// publish gives the API server what a manager would.
func (l *lab) publish(ctx context.Context) {
	result, err := bench.Compile(ctx, node, l.manifests())
	l.Must(err)
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
func (l *lab) startAgent(ctx context.Context) (pid int, stop func()) {
	address, err := freeport.Address()
	l.Must(err)
	pid, stop = l.start(exec.CommandContext(ctx, l.agent, "-node-name", node, "-kubeconfig", l.kubeconfig, "-metrics-bind-address", address,
		"-host-pid", fmt.Sprint(l.machine.PID()), "-state-dir", "/var/lib/bench", "-splay", "0s", "-spread", "0s", "-log-level", "error"))
	l.Until(ctx, "the first run of the agent", tick, func() bool {
		runs, _ := bench.AgentRuns(ctx, address) // it may not listen yet
		return runs["changed"]+runs["unchanged"] > 0
	})
	l.Pause(ctx, calm)
	return pid, stop
}

// startWatch starts fettle apply --watch, and returns once it has corrected a file, and had time to check its changes again.
func (l *lab) startWatch(ctx context.Context) (pid int, stop func()) {
	first := l.path(folder + "/" + name(0))
	l.Must(os.WriteFile(first, []byte("changed\n"), 0o644))
	cmd := exec.CommandContext(ctx, l.fettle, "apply", "--watch", "-f", "-", "-o", "json",
		"--host-pid", fmt.Sprint(l.machine.PID()), "--state-dir", "/var/lib/bench-watch")
	cmd.Stdin = strings.NewReader(l.manifests())
	pid, stop = l.start(cmd)
	l.Until(ctx, "the first run of fettle apply --watch", tick, func() bool {
		is, err := os.ReadFile(first)
		return err == nil && string(is) == text(0)
	})
	l.Pause(ctx, calm)
	return pid, stop
}

// startBareLoop starts this program as the bare loop, over the files that an agent has made.
func (l *lab) startBareLoop(ctx context.Context) (pid int, stop func()) {
	_, stop = l.startAgent(ctx)
	stop()
	self, err := os.Executable()
	l.Must(err)
	pid, stop = l.start(exec.CommandContext(ctx, self, asBareLoop, l.path(folder)))
	l.Pause(ctx, calm)
	return pid, stop
}

// start starts a program, and returns its process and what ends it.
func (l *lab) start(cmd *exec.Cmd) (pid int, stop func()) {
	cmd.Stderr = os.Stderr
	l.Must(cmd.Start())
	return cmd.Process.Pid, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was told to end
	}
}

const (
	calm = 3 * time.Second // in which an agent checks its changes again
	tick = 100 * time.Microsecond
)

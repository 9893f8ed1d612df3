package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/fettle-dev/fettle/test/cluster"
)

// A running cluster is described by a file, for the other commands.
type running struct {
	Kubeconfig, Kubectl, Logs string
	Nodes                     map[string]int // PIDs of the machines' first processes, by name
	Supervisor                int
}

// path is the file that describes the running cluster.
func path() string { return filepath.Join(os.TempDir(), name()+".json") }

// name is the name of the cluster: $CLUSTER_NAME, or the default one.
func name() string {
	if n := os.Getenv("CLUSTER_NAME"); n != "" {
		return n
	}
	return "fettle-cluster"
}

func describe(c *cluster.Cluster) running {
	r := running{
		Kubeconfig: c.Kubeconfig(), Kubectl: c.Programs().Path("kubectl"), Logs: filepath.Join(c.Dir, "log"),
		Nodes: map[string]int{}, Supervisor: os.Getpid(),
	}
	for _, n := range c.Nodes() {
		r.Nodes[n.Name] = n.PID()
	}
	return r
}

// save writes the file in one step.
func (r running) save() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path()+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path()+".new", path())
}

func find() (r running, err error) {
	text, err := os.ReadFile(path())
	if errors.Is(err, os.ErrNotExist) {
		return r, errors.New("no cluster is running: start one with make cluster")
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// run runs a command of this machine.
func (r running) run(ctx context.Context, command []string) error {
	if err := os.Setenv("PATH", filepath.Dir(r.Kubectl)+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig)
	return interactive(cmd, os.Stdin)
}

// node runs a command on a node.
func (r running) node(ctx context.Context, args []string) error {
	return r.onNode(ctx, args[0], args[1:], os.Stdin)
}

func (r running) onNode(ctx context.Context, name string, command []string, input io.Reader) error {
	pid, ok := r.Nodes[name]
	if !ok {
		return fmt.Errorf("there is no node %q", name)
	}
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--target", strconv.Itoa(pid), "--all", "--"}, command...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "TERM=" + os.Getenv("TERM")}
	return interactive(cmd, input)
}

func interactive(cmd *exec.Cmd, input io.Reader) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return &failedCommand{exit}
	}
	return err
}

// load imports archives of images.
func (r running) load(ctx context.Context, archives []string) error {
	for _, archive := range archives {
		for name := range r.Nodes {
			if err := r.loadOn(ctx, name, archive); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r running) loadOn(ctx context.Context, name, archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.onNode(ctx, name, []string{"ctr", "--namespace", "k8s.io", "images", "import", "--local", "-"}, f)
}

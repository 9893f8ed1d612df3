package glance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/nodes"
)

// machines is the number of real machines, and parallel that of requests that are made at once.
const (
	machines = 3
	parallel = 16
)

// A machine is a real one, with the real agent.
type machine struct {
	*debian.Machine
	name  string
	agent *controlplane.Process
}

// unit is a service that the machines have.
const unit = "[Service]\nExecStart=/bin/sleep infinity\n"

func prepare(root string) error {
	if err := os.WriteFile(filepath.Join(root, "etc/systemd/system/site.service"), []byte(unit), 0o644); err != nil {
		return err
	}
	return debian.WriteRepository(root, debian.Deb{Name: "site-tools", Version: "1.4", Files: map[string]string{"/usr/share/site-tools/version": "1.4\n"}})
}

// bootMachines boots the machines, and starts their agents.
func (f *Fleet) bootMachines(ctx context.Context) error {
	group, booting := errgroup.WithContext(ctx)
	for i := range machines {
		m := &machine{name: fmt.Sprintf("web-%d", i+1)}
		f.machines = append(f.machines, m)
		group.Go(func() (err error) {
			if m.Machine, err = debian.Start(booting, debian.Spec{Hostname: m.name, Prepare: prepare}, os.Stderr); err != nil {
				return err
			}
			_, err = m.Run(booting, "apt-get", "--quiet", "update")
			return err
		})
	}
	err := group.Wait()
	f.Cleanup(func() {
		for _, m := range f.machines {
			if m.Machine == nil {
				continue
			}
			if err := m.Stop(); err != nil {
				f.Errorf("cannot stop %s: %v", m.name, err)
			}
		}
	})
	for _, m := range f.machines {
		if err == nil {
			err = f.startAgent(ctx, m)
		}
	}
	return err
}

// startAgent starts the agent of a machine, with the token of its node.
func (f *Fleet) startAgent(ctx context.Context, m *machine) error {
	var node corev1.Node
	if err := f.admin.Get(ctx, client.ObjectKey{Name: m.name}, &node); err != nil {
		return err
	}
	token, err := controlplane.AgentToken(ctx, f.admin, &node)
	if err != nil {
		return err
	}
	cfg := rest.AnonymousClientConfig(f.cfg)
	cfg.BearerToken = token
	kubeconfig := filepath.Join(f.dir, m.name+".kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, cfg, ""); err != nil {
		return err
	}
	m.agent = f.start(m.name, f.programs.Agent, "-node-name", m.name, "-kubeconfig", kubeconfig, "-host-pid", fmt.Sprint(m.PID()), "-splay", "0s", "-interval", soon.String())
	return nil
}

// A simulated node has a directory as its host.
type simulated struct {
	name, root string
	host       *linux.Host
	drifts     bool
}

// startSimulated starts the agents of all simulated nodes.
func (f *Fleet) startSimulated(ctx context.Context) {
	f.Helper()
	byName, names := map[string]*simulated{}, []string{}
	for _, s := range f.simulated {
		f.must(s.open())
		byName[s.name], names = s, append(names, s.name)
	}
	f.Cleanup(func() {
		for _, s := range f.simulated {
			_ = s.host.Close() // nothing is buffered
		}
	})
	kinds := providers.Kinds()
	nodes.Start(ctx, f, nodes.Options{Cluster: f.cfg, Dir: f.dir, Names: names, Complete: func(name string, c *nodeagent.Config) {
		byName[name].complete(c, kinds)
		c.Spread = max(c.Spread, time.Duration(len(names))*runTime)
	}})
}

// open makes the host of a node.
func (s *simulated) open() (err error) {
	if err := os.MkdirAll(s.path("/etc"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(s.path("/etc/os-release"), []byte("ID=debian\nNAME=Debian\nVERSION_ID=12\n"), 0o644); err != nil {
		return err
	}
	if s.name == failing {
		if err := os.MkdirAll(s.path(ntpPath), 0o755); err != nil {
			return err
		}
	}
	s.host, err = linux.Open(linux.Options{Root: s.root})
	return err
}

// runTime is about the processor time of a first run, with all that it takes elsewhere. Nodes that ran all at once would have too many files open in one process.
const runTime = 30 * time.Millisecond

// soon is the time between runs of nodes that drift. They can't all be watched, because the kernel limits the number of watches.
const soon = 5 * time.Second

// complete gives an agent its host.
func (s *simulated) complete(c *nodeagent.Config, kinds []resource.Kind) {
	c.Host, c.Bucket, c.Kinds, c.Splay = s.host, bucket.New(s.host, bucket.DefaultDir, bucket.DefaultLimit), kinds, 0
	if s.drifts {
		c.Interval = soon
	}
}

func (s *simulated) path(name string) string { return filepath.Join(s.root, name) }

// append adds a line to a file as an editor would that knows no better.
func (s *simulated) append(name, line string) error {
	file, err := os.OpenFile(s.path(name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err := file.WriteString(line); err != nil {
		return err
	}
	return file.Close()
}

// Package nodes plays the nodes of a fleet: their agents are the real ones, in this process, each with a token that is
// bound to its Node. What is on their hosts is for the caller to say, by the kinds that agents are given.
package nodes

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/test/controlplane"
)

// parallel is how many requests for tokens are under way at once.
const parallel = 16

// Options say which nodes there are.
type Options struct {
	Cluster *rest.Config // an administrator's
	Dir     string       // for the root that all hosts share, and for what each agent keeps
	Names   []string     // of Nodes, which there must be
	// Complete gives an agent its kinds, and what else is not to be as users have it.
	Complete func(node string, c *nodeagent.Config)
}

// Start starts an agent for each node. They stop with the function returned, or with the test; one that ends before
// is an error.
func Start(ctx context.Context, t controlplane.T, o Options) (stop func()) {
	t.Helper()
	h, err := open(filepath.Join(o.Dir, "root"))
	if err != nil {
		t.Fatalf("cannot make a host: %v", err)
	}
	agents, err := o.agents(ctx, t, h)
	if err != nil {
		t.Fatalf("cannot make agents: %v", err)
	}
	running, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, a := range agents {
		all.Go(func() {
			if err := a.Run(running); err != nil {
				t.Errorf("an agent ended: %v", err)
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
		_ = h.Close() // nothing was written
	})
	t.Cleanup(stop)
	return stop
}

// open makes a host that has facts.
func open(root string) (*linux.Host, error) {
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(root, "etc/os-release"), []byte("ID=debian\nNAME=Debian\nVERSION_ID=12\n"), 0o644); err != nil {
		return nil, err
	}
	return linux.Open(linux.Options{Root: root})
}

func (o Options) agents(ctx context.Context, t controlplane.T, h host.Host) ([]*nodeagent.Agent, error) {
	t.Helper()
	admin := controlplane.Admin(t, o.Cluster)
	agents := make([]*nodeagent.Agent, len(o.Names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, name := range o.Names {
		group.Go(func() (err error) {
			agents[i], err = o.agent(ctx, admin, h, name)
			return err
		})
	}
	return agents, group.Wait()
}

func (o Options) agent(ctx context.Context, admin client.Client, h host.Host, name string) (*nodeagent.Agent, error) {
	var node corev1.Node
	if err := admin.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return nil, err
	}
	token, err := controlplane.AgentToken(ctx, admin, &node)
	if err != nil {
		return nil, err
	}
	cfg := rest.AnonymousClientConfig(o.Cluster)
	cfg.BearerToken = token
	cfg.QPS, cfg.Burst = nodeagent.DefaultQPS, nodeagent.DefaultBurst
	c := nodeagent.Config{
		Node: name, Cluster: cfg, Host: h, StateDir: filepath.Join(o.Dir, "state", name),
		Interval: nodeagent.DefaultInterval, Splay: nodeagent.DefaultSplay, Spread: nodeagent.DefaultSpread, KeyAge: nodeagent.DefaultKeyAge,
	}
	o.Complete(name, &c)
	return nodeagent.New(c)
}

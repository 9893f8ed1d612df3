package main

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent"
)

// always is a provider of a host that is always as it should be. What the agent does about a catalog is real; what a
// provider would do about a host is not what a fleet is measured by.
type always struct{}

func (always) Name() string                            { return "always" }
func (always) Suits(resource.Facts, host.Reader) error { return nil }

func (always) Read(_ context.Context, _ host.Reader, want v1alpha1.FileAttributes) (v1alpha1.FileAttributes, error) {
	return want, nil
}

func (always) Write(context.Context, host.Host, v1alpha1.FileAttributes, v1alpha1.FileAttributes, []resource.Change) error {
	return nil
}

func kinds() []resource.Kind {
	type file = v1alpha1.FileAttributes
	t := &resource.Type[file]{
		Name: "File", NamevarName: "path", Namevar: func(a *file) *string { return &a.Path },
		Properties: []resource.Property[file]{
			resource.Field("content", "what is in it", func(a *file) **string { return &a.Content }),
			resource.Field("mode", "who may do what", func(a *file) **string { return &a.Mode }),
		},
		Providers: []resource.Provider[file]{always{}},
	}
	return []resource.Kind{t.Erase()}
}

// startAgents starts an agent for each node, with a token that is bound to it. They stop with the function returned.
func (f *fleet) startAgents(ctx context.Context) (stop func()) {
	root := filepath.Join(f.dir, "root")
	f.must(os.MkdirAll(filepath.Join(root, "etc"), 0o755))
	f.must(os.WriteFile(filepath.Join(root, "etc/os-release"), []byte("ID=debian\nNAME=Debian\nVERSION_ID=12\n"), 0o644))
	h, err := linux.Open(linux.Options{Root: root})
	f.must(err)
	set, err := kubernetes.NewForConfig(f.cfg)
	f.must(err)
	agents := make([]*nodeagent.Agent, len(f.nodes))
	f.each(len(f.nodes), func(i int) (err error) {
		agents[i], err = f.agent(ctx, set, h, f.nodes[i])
		return err
	})
	running, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, a := range agents {
		all.Go(func() {
			if err := a.Run(running); err != nil {
				f.Errorf("an agent ended: %v", err)
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
		_ = h.Close() // nothing was written
	})
	f.Cleanup(stop)
	return stop
}

func (f *fleet) agent(ctx context.Context, set kubernetes.Interface, h host.Host, name string) (*nodeagent.Agent, error) {
	var node corev1.Node
	if err := f.client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return nil, err
	}
	hour := int64(24 * 60 * 60)
	token, err := set.CoreV1().ServiceAccounts("fettle-nodes").CreateToken(ctx, "fettle-nodeagent", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: &hour,
			BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Node", APIVersion: "v1", Name: name, UID: node.UID},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	cfg := rest.AnonymousClientConfig(f.cfg)
	cfg.BearerToken = token.Status.Token
	cfg.QPS, cfg.Burst = nodeagent.DefaultQPS, nodeagent.DefaultBurst
	return nodeagent.New(nodeagent.Config{
		Node: name, Cluster: cfg, Host: h, Kinds: kinds(), StateDir: filepath.Join(f.dir, "state", name),
		Interval: nodeagent.DefaultInterval, Splay: nodeagent.DefaultSplay, Spread: nodeagent.DefaultSpread, KeyAge: nodeagent.DefaultKeyAge,
	})
}

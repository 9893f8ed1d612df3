package simulated

import (
	"context"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/nodeagent"
	"github.com/fettle-dev/fettle/test/fixtures/nodes"
)

// always is a provider that finds every resource in sync. The benchmark measures the real work of agents with catalogs,
// not that of providers with hosts.
type always struct{}

func (always) Name() string                            { return "always" }
func (always) Suits(resource.Facts, host.Reader) error { return nil }

func (always) Read(_ context.Context, _ resource.Reader, want v1alpha1.FileAttributes) (v1alpha1.FileAttributes, error) {
	return want, nil
}

func (always) Write(context.Context, resource.Writer, v1alpha1.FileAttributes, v1alpha1.FileAttributes, []resource.Change) error {
	return nil
}

func kinds() []resource.Kind {
	type file = v1alpha1.FileAttributes
	t := &resource.Type[file]{
		Name: "File", NamevarName: "path", Namevar: func(a *file) *string { return &a.Path },
		Properties: []resource.Property[file]{
			resource.Field("content", "what is in it", func(a *file) *string { return a.Content }),
			resource.Field("mode", "who may do what", func(a *file) *string { return a.Mode }),
		},
		Providers: []resource.Provider[file]{always{}},
	}
	return []resource.Kind{bound.Kind(t)}
}

// StartAgents starts an agent for each node. They stop with the function returned.
func (f *Fleet) StartAgents(ctx context.Context) (stop func()) {
	return nodes.Start(ctx, f, nodes.Options{
		Cluster: f.Config, Dir: f.dir, Names: f.Nodes,
		Complete: func(_ string, c *nodeagent.Config) { c.Kinds = kinds() },
	})
}

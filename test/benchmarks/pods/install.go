package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// images are the archives of `make image`, by the name of the image.
var images = map[string]string{"manager": "fettle-manager-amd64.tar", "agent": "fettle-nodeagent-amd64.tar"}

// imageSizes reads the sizes of the archives, whose layers are compressed.
func imageSizes(_ context.Context, o options, r *result) error {
	for name, archive := range images {
		info, err := os.Stat(filepath.Join(o.images, archive))
		if err != nil {
			return fmt.Errorf("%w: run make image first", err)
		}
		r.size(name, info.Size())
	}
	return nil
}

// install installs config/default, and waits until it runs.
func (l *lab) install(ctx context.Context, o options, _ *result) error {
	for _, archive := range images {
		if err := l.LoadImage(ctx, filepath.Join(o.images, archive)); err != nil {
			return err
		}
	}
	const allAtOnce = `--patch=[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--default-rollout-policy=false"}]`
	for _, args := range [][]string{
		{"apply", "-k", "config/default"},
		{"-n", "fettle-system", "patch", "deployment/fettle-manager", "--type=json", allAtOnce},
		{"-n", "fettle-system", "set", "image", "deployment/fettle-manager", "*=localhost/fettle-manager:bench"},
		{"-n", "fettle-nodes", "set", "image", "daemonset/fettle-nodeagent", "*=localhost/fettle-nodeagent:bench"},
		{"-n", "fettle-system", "rollout", "status", "deployment/fettle-manager", "--timeout=5m"},
		{"-n", "fettle-nodes", "rollout", "status", "daemonset/fettle-nodeagent", "--timeout=5m"},
	} {
		if _, err := l.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// The resources of each node.
const (
	files    = 150
	users    = 20
	groups   = 10
	packages = 20
)

// applyResources applies the resources, and waits until all nodes are in sync.
func (l *lab) applyResources(ctx context.Context, _ options, _ *result) error {
	installed, err := l.Nodes()[0].Shell(ctx, fmt.Sprintf(`dpkg-query --show --showformat '${Package}\n' | head -n %d`, packages))
	if err != nil {
		return err
	}
	var m bench.Manifests
	for i := range files {
		m.Add("File", fmt.Sprintf("f%d", i), "path: /etc/bench-%d\ncontent: %q", i, strings.Repeat(fmt.Sprintf("line of file %d\n", i), 50))
	}
	for i := range groups {
		m.Add("Group", fmt.Sprintf("g%d", i), "gid: %d", 3000+i)
	}
	for i := range users {
		m.Add("User", fmt.Sprintf("u%d", i), "uid: %d\ngid: g%d\ncomment: User %d", 3000+i, i%groups, i)
	}
	names := strings.Fields(installed)
	if len(names) != packages {
		return fmt.Errorf("a node has %d packages, want %d", len(names), packages)
	}
	for _, name := range names {
		m.Add("Package", name, "ensure: present")
	}
	if err := l.Apply(ctx, m.String()); err != nil {
		return err
	}
	_, err = l.Kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=5m", "files,groups,users,packages", "--all")
	return err
}

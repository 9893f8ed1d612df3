package glance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// What happens to the fleet: somebody edits the time servers of some nodes, which is corrected, and the message of the day of others, which is only reported.
// On one node, a directory is in the way.
var (
	editsNTP  = []string{"web-1", "node-0007", "node-0009", "node-0017"}
	editsMotd = []string{"web-3", "node-0001", "node-0002", "node-0003", "node-0004", "node-0005"}
)

const (
	failing  = "node-0013"
	ntpPath  = "/etc/ntp.conf"
	motdPath = "/etc/motd"
	// MinSimulated is the number of simulated nodes that the scenario has a part for.
	MinSimulated = 20
)

// everywhere are the resources of all nodes, and onMachines those of the machines. plan is a change of one of the former.
const (
	everywhere = `
- {kind: File, metadata: {name: ntp}, spec: {nodeSelector: {}, path: /etc/ntp.conf, content: "server 192.0.2.1\n", mode: "0644"}}
- {kind: File, metadata: {name: motd}, spec: {nodeSelector: {}, path: /etc/motd, content: "Managed by Fettle.\n"}}
- {kind: File, metadata: {name: issue}, spec: {nodeSelector: {}, path: /etc/issue, content: "Authorized use only.\n"}}
`
	onMachines = `
- {kind: Package, metadata: {name: site-tools}, spec: {nodeSelector: {matchLabels: {role: web}}}}
- {kind: User, metadata: {name: deploy}, spec: {nodeSelector: {matchLabels: {role: web}}, uid: 3000, gid: "100", home: /home/deploy, shell: /bin/bash}}
- {kind: SystemService, metadata: {name: site}, spec: {nodeSelector: {matchLabels: {role: web}}, ensure: running}}
- kind: File
  metadata: {name: site}
  spec:
    nodeSelector: {matchLabels: {role: web}}
    path: /etc/site.conf
    content: "listen 8080\n"
    require: [Package/site-tools]
    notify: [SystemService/site]
`
	plan = `apiVersion: fettle.dev/v1alpha1
kind: File
metadata:
  name: ntp
spec:
  nodeSelector: {}
  path: /etc/ntp.conf
  content: "server 192.0.2.123\n"
  mode: "0644"
`
	perNodeResources, perMachineResources = 3, 4
)

// populate makes nodes and resources.
func (f *Fleet) populate(ctx context.Context, simulate int) error {
	if simulate < MinSimulated {
		return fmt.Errorf("%d simulated nodes are too few: use %d or more", simulate, MinSimulated)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "ntp.yaml"), []byte(plan), 0o644); err != nil {
		return err
	}
	group, making := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	node := func(name, role string) {
		group.Go(func() error {
			o := &corev1.Node{ObjectMeta: named(name)}
			o.Labels = map[string]string{"role": role}
			return f.admin.Create(making, o)
		})
	}
	for i := range machines {
		node(fmt.Sprintf("web-%d", i+1), "web")
	}
	for i := range simulate {
		s := &simulated{name: nodeName(i), root: filepath.Join(f.dir, "hosts", nodeName(i))}
		s.drifts = slices.Contains(editsNTP, s.name) || slices.Contains(editsMotd, s.name)
		f.simulated = append(f.simulated, s)
		node(s.name, "worker")
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return f.apply(ctx, everywhere+onMachines)
}

// apply creates resources.
func (f *Fleet) apply(ctx context.Context, manifests string) error {
	var all []map[string]any
	if err := yaml.Unmarshal([]byte(manifests), &all); err != nil {
		return err
	}
	for _, m := range all {
		o := v1alpha1.NewResource(m["kind"].(string)) //nolint:forcetypeassert // it is above
		text, err := yaml.Marshal(m)
		if err == nil {
			err = yaml.UnmarshalStrict(text, o)
		}
		if err == nil {
			err = f.admin.Create(ctx, o)
		}
		if err != nil {
			return err
		}
		f.resources = append(f.resources, o)
	}
	return nil
}

// Drift changes hosts, and waits until the cluster knows all of it.
func (f *Fleet) Drift(ctx context.Context) {
	f.Helper()
	for _, o := range []client.Object{&v1alpha1.File{ObjectMeta: named("motd")}, &v1alpha1.User{ObjectMeta: named("deploy")}} {
		f.must(f.admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"noop":true}}`))))
	}
	want := f.applied()
	f.await(ctx, "two resources only report differences", want)
	// These come one after the other, because output is in the order of their times.
	f.runOn(ctx, "web-2", "usermod --shell /bin/sh deploy")
	want.reported("User/deploy", "web-2")
	f.await(ctx, "the user is different", want)
	f.runOn(ctx, "web-1", "echo 'listen 80' >> /etc/site.conf")
	want.corrected("File/site", "web-1")
	f.await(ctx, "the configuration is corrected", want)
	for _, name := range []string{"web-2", "web-1"} {
		f.runOn(ctx, name, "systemctl stop site")
		want.corrected("SystemService/site", name)
		f.await(ctx, "the service of "+name+" runs again", want)
	}
	f.append(ctx, ntpPath, "server 198.51.100.7", editsNTP)
	want.corrected("File/ntp", editsNTP...)
	f.append(ctx, motdPath, "Call 4711.", editsMotd)
	want.reported("File/motd", editsMotd...)
	f.await(ctx, "the cluster knows the drift", want)
}

// append adds a line to a file on some nodes.
func (f *Fleet) append(ctx context.Context, path, line string, nodes []string) {
	f.Helper()
	for _, name := range nodes {
		if i := slices.IndexFunc(f.simulated, func(s *simulated) bool { return s.name == name }); i >= 0 {
			f.must(f.simulated[i].append(path, line+"\n"))
			continue
		}
		f.runOn(ctx, name, "echo '"+line+"' >> "+path)
	}
}

// runOn runs a command on a machine.
func (f *Fleet) runOn(ctx context.Context, name, script string) {
	f.Helper()
	i := slices.IndexFunc(f.machines, func(m *machine) bool { return m.name == name })
	_, err := f.machines[i].Run(ctx, "sh", "-c", script)
	f.must(err)
}

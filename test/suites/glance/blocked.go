package glance

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// What keeps the fleet from what its resources say, in each of the ways that there are.
const (
	// relabelled is the number of workers that get another role by mistake, from firstRelabelled on. They are too many to lose a
	// resource at once.
	relabelled, firstRelabelled = 50, 100
	disabled, silent            = "node-0020", "web-3"
	// uncorrectable is a node on which somebody replaced a file by a directory.
	uncorrectable, issuePath = "node-0007", "/etc/issue"
	// blocked are the resources: one of the workers, and two that claim the same path.
	blocked = `
- {kind: File, metadata: {name: worker}, spec: {nodeSelector: {matchLabels: {role: worker}}, path: /etc/worker.conf, content: "queue mail\n"}}
- {kind: File, metadata: {name: port}, spec: {nodeSelector: {matchLabels: {role: web}}, path: /etc/port.conf, content: "8080\n"}}
- {kind: File, metadata: {name: other-port}, spec: {nodeSelector: {matchLabels: {role: web}}, path: /etc/port.conf, content: "8443\n"}}
`
)

// Block blocks the fleet after [Fleet.Drift], and waits until the cluster knows all of it. It needs 150 simulated nodes.
func (f *Fleet) Block(ctx context.Context) {
	f.Helper()
	f.must(f.apply(ctx, blocked))
	f.until(ctx, "the workers have applied their File", func() (string, bool) {
		var worker v1alpha1.File
		err := f.admin.Get(ctx, client.ObjectKey{Name: "worker"}, &worker)
		n := worker.Status.Nodes
		return fmt.Sprintf("%+v, %v", n, err), n != nil && int(n.InSync) == len(f.simulated)
	})
	f.must(f.patch(ctx, &v1alpha1.NodeCatalog{ObjectMeta: named(disabled)}, `{"spec":{"disabled":{"reason":"kernel upgrade"}}}`))
	f.must(f.replaceByDirectory(uncorrectable, issuePath))
	f.must(f.silence(ctx, silent))
	f.manager.Stop() // so that one pass sees all of them: otherwise the first few may lose their resource
	for i := range relabelled {
		f.must(f.patch(ctx, &corev1.Node{ObjectMeta: named(nodeName(firstRelabelled + i))}, `{"metadata":{"labels":{"role":"db"}}}`))
	}
	f.must(f.manager.Start())
	want := f.blockedNodes()
	f.until(ctx, "the Fleet counts all that is blocked", func() (string, bool) {
		var fleet v1alpha1.Fleet
		err := f.admin.Get(ctx, client.ObjectKey{Name: v1alpha1.FleetName}, &fleet)
		return fmt.Sprintf("%+v, want %+v, %v", fleet.Status.Nodes, want, err), err == nil && fleet.Status.Nodes == want
	})
}

// blockedNodes counts the nodes by state.
func (f *Fleet) blockedNodes() v1alpha1.FleetNodes {
	n := v1alpha1.FleetNodes{Total: int32(f.Nodes()), Held: relabelled, Failed: 2, Withheld: machines - 1, Disabled: 1, Silent: 1, OutOfSync: 5} //nolint:gosec // there are fewer
	n.InSync = n.Total - n.Held - n.Failed - n.Withheld - n.Disabled - n.Silent - n.OutOfSync
	return n
}

// Confirm confirms what is held as the status says, and waits until nothing is.
func (f *Fleet) Confirm(ctx context.Context) {
	f.Helper()
	var fleet v1alpha1.Fleet
	f.must(f.admin.Get(ctx, client.ObjectKey{Name: v1alpha1.FleetName}, &fleet))
	if fleet.Status.Deselection == nil {
		f.Fatalf("the Fleet has nothing to confirm")
	}
	f.must(f.patch(ctx, &v1alpha1.Fleet{ObjectMeta: named(v1alpha1.FleetName)},
		fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationConfirmDeselection, fleet.Status.Deselection.Token)))
	f.until(ctx, "nothing is held", func() (string, bool) {
		err := f.admin.Get(ctx, client.ObjectKey{Name: v1alpha1.FleetName}, &fleet)
		n := fleet.Status.Nodes
		return fmt.Sprintf("%+v, %v", n, err), err == nil && n.Held+n.Pending == 0 && fleet.Status.Deselection == nil
	})
}

func (f *Fleet) patch(ctx context.Context, o client.Object, patch string) error {
	return f.admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// replaceByDirectory replaces a file of a simulated node by a directory with content.
func (f *Fleet) replaceByDirectory(node, path string) error {
	for _, s := range f.simulated {
		if s.name != node {
			continue
		}
		if err := os.Remove(s.path(path)); err != nil {
			return err
		}
		return os.MkdirAll(s.path(path)+"/old", 0o755)
	}
	return fmt.Errorf("there is no node %s", node)
}

// silence stops the agent of a machine, and lets its Lease expire at once.
func (f *Fleet) silence(ctx context.Context, node string) error {
	for _, m := range f.machines {
		if m.name == node {
			m.agent.Stop()
		}
	}
	return f.patch(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: v1alpha1.AgentNamespace}}, `{"spec":{"leaseDurationSeconds":1}}`)
}

// until waits until something is so.
func (f *Fleet) until(ctx context.Context, what string, is func() (found string, done bool)) {
	f.Helper()
	ctx, cancel := context.WithTimeout(ctx, f.limit())
	defer cancel()
	for {
		found, done := is()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			f.Fatalf("waiting until %s: %s\nThe manager logged\n%s", what, found, f.log("manager"))
		case <-time.After(shortPause):
		}
	}
}

// BlockedCommands show what is blocked, in their order: first the whole, then each cause.
func BlockedCommands() []string {
	return []string{
		"kubectl fettle status",
		"kubectl get fleet",
		"kubectl fettle why File/worker",
		"kubectl fettle why File/port",
		"kubectl fettle why File/issue",
		"kubectl fettle drift File/issue File/worker --by both",
		"kubectl fettle diff File/port",
		"kubectl fettle diff " + disabled,
		"kubectl fettle catalog web-1",
		"kubectl get files worker port issue",
		"kubectl get nodecatalogs node-0100 " + disabled + " " + silent + " web-1 " + uncorrectable,
	}
}

// BlockedCodes are commands with their exit codes.
func BlockedCodes() map[string]int {
	return map[string]int{
		"kubectl fettle status --detailed-exitcodes":                                        6,
		"kubectl fettle status":                                                             0,
		"kubectl fettle why File/worker --detailed-exitcodes":                               4,
		"kubectl fettle why File/worker --node node-0030 --detailed-exitcodes":              0,
		"kubectl fettle why File/worker --node node-0100 --detailed-exitcodes":              4,
		"kubectl fettle why File/port --detailed-exitcodes":                                 4,
		"kubectl fettle why File/motd --detailed-exitcodes":                                 6,
		"kubectl fettle why File/issue --detailed-exitcodes":                                4,
		"kubectl fettle drift File/issue --node " + uncorrectable + " --detailed-exitcodes": 6,
		"kubectl fettle drift --node " + silent + " --since 1s --detailed-exitcodes":        4,
		"kubectl fettle diff File/port --detailed-exitcodes":                                4,
		"kubectl fettle diff " + silent + " --detailed-exitcodes":                           1,
		"kubectl fettle catalog web-1 --detailed-exitcodes":                                 4,
		"kubectl fettle plan -f ntp.yaml --detailed-exitcodes":                              6,
		"kubectl fettle drift File/isue":                                                    1,
		"kubectl fettle why File/worker --node node-9999":                                   1,
	}
}

// BlockedTranscript runs the commands, and returns them with their output.
func (f *Fleet) BlockedTranscript(ctx context.Context) string {
	f.Helper()
	var b strings.Builder
	for _, line := range BlockedCommands() {
		out, err := f.Command(ctx, line).CombinedOutput()
		if err != nil {
			f.Fatalf("%s: %v\n%s", line, err, out)
		}
		fmt.Fprintf(&b, "$ %s\n%s", line, Steady(string(out)))
	}
	return b.String()
}

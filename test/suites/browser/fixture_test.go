package browser_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

// The size of the fleet.
const (
	nodes     = 5000
	resources = 500
)

// A fixture is a cluster with a fleet, and kubectl-fettle.
type fixture struct {
	cfg    *rest.Config
	admin  client.Client
	fettle string // the path of kubectl-fettle
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	cfg.QPS = -1
	f := &fixture{cfg: cfg, admin: controlplane.Admin(t, cfg), fettle: filepath.Join(t.TempDir(), "kubectl-fettle")}
	program.Build(t, "kubectl-fettle", f.fettle)
	f.populate(t)
	return f
}

// populate creates the fleet: one of every hundred nodes has failed, and one has drifted.
func (f *fixture) populate(t *testing.T) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	create := func(o client.Object, withStatus func()) {
		group.Go(func() error {
			if err := f.admin.Create(ctx, o); err != nil || withStatus == nil {
				return err
			}
			withStatus()
			return f.admin.Status().Update(ctx, o)
		})
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%04d", i)
		c := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if i == 1 {
			c.Spec.Entries = websiteCatalog()
		}
		create(c, func() { c.Status = status(i) })
		if i < 10 {
			create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil)
		}
	}
	for i := range resources {
		file := &v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("file-%03d", i)}}
		file.Spec.NodeSelector, file.Spec.Path = &metav1.LabelSelector{}, fmt.Sprintf("/etc/file-%03d", i)
		create(file, func() {
			file.Status.ObservedGeneration = 1
			file.Status.Nodes = &v1alpha1.NodeCounts{Selected: nodes, InSync: nodes}
			file.Status.Conditions = []metav1.Condition{condition(metav1.ConditionTrue, v1alpha1.ReasonApplied, "")}
		})
	}
	policy := &v1alpha1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	policy.Spec.NodeSelector = &metav1.LabelSelector{}
	create(policy, func() { policy.Status = rollingOut(4) })
	fleet := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName}}
	create(fleet, func() { fleet.Status.History = weekHistory() })
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// rollingOut is the status of a rollout that some nodes have proven.
func rollingOut(proven int32) v1alpha1.RolloutPolicyStatus {
	revision := func(digit string) string { return "sha256-" + strings.Repeat(digit, 64) }
	return v1alpha1.RolloutPolicyStatus{
		Stable: revision("1"), Target: revision("2"), Nodes: v1alpha1.RolloutNodes{Total: nodes, Affected: nodes, Admitted: 4 * proven, Proven: proven},
		Conditions: []metav1.Condition{condition(metav1.ConditionFalse, v1alpha1.ReasonRollingOut, fmt.Sprintf("%d of 5000 affected nodes have proven revision 2222222222", proven))},
	}
}

// websiteCatalog is the catalog of a web server.
func websiteCatalog() []v1alpha1.CatalogEntry {
	entry := func(kind, name, namevar string, edges v1alpha1.Edges) v1alpha1.CatalogEntry {
		return v1alpha1.CatalogEntry{Kind: kind, Name: name, Namevar: namevar, Edges: &edges}
	}
	return []v1alpha1.CatalogEntry{
		entry("File", "nginx-conf", "/etc/nginx/nginx.conf", v1alpha1.Edges{Require: []v1alpha1.ResourceRef{"Package/nginx"}, Notify: []v1alpha1.ResourceRef{"SystemService/nginx"}}),
		entry("File", "site", "/srv/site/index.html", v1alpha1.Edges{Require: []v1alpha1.ResourceRef{"User/deploy"}, Before: []v1alpha1.ResourceRef{"SystemService/nginx"}}),
		entry("File", "motd", "/etc/motd", v1alpha1.Edges{}),
		entry("Package", "nginx", "nginx", v1alpha1.Edges{}),
		entry("SystemService", "nginx", "nginx", v1alpha1.Edges{}),
		entry("User", "deploy", "deploy", v1alpha1.Edges{}),
	}
}

// weekHistory is the history of a week in which a change reached the nodes step by step.
func weekHistory() []v1alpha1.FleetHour {
	var all []v1alpha1.FleetHour
	for ago := range 168 {
		h := v1alpha1.FleetHour{Hour: metav1.NewTime(time.Now().UTC().Truncate(time.Hour).Add(-time.Duration(ago) * time.Hour)), Drifting: int32(50 + 10*(ago%7)), Failed: 50}
		if ago > 60 && ago < 90 {
			h.Unknown = int32(80 * (ago - 60))
		}
		h.InSync = nodes - h.Drifting - h.Failed - h.Unknown
		all = append(all, h)
	}
	return all
}

func condition(is metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: is, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}
}

func status(i int) v1alpha1.NodeCatalogStatus {
	s := v1alpha1.NodeCatalogStatus{
		ObservedGeneration: 1, AppliedGeneration: 1, AgentVersion: "1.0.0",
		LastRun:    &v1alpha1.LastRun{Started: metav1.Now(), Duration: "0.021s", Trigger: v1alpha1.TriggerInterval},
		Counts:     &v1alpha1.RunCounts{Total: resources, InSync: resources},
		Conditions: []metav1.Condition{condition(metav1.ConditionTrue, v1alpha1.ReasonApplied, "")},
	}
	switch i % 100 {
	case 1:
		s.Counts.InSync, s.Counts.Failed = resources-1, 1
		s.Resources = []v1alpha1.ResourceReport{{Ref: "File/file-001", State: v1alpha1.StateFailed, Message: "cannot write /etc/file-001: no space left on device"}}
		s.Conditions = []metav1.Condition{condition(metav1.ConditionFalse, v1alpha1.ReasonResourcesFailed, "1 of 500 resources failed: File/file-001")}
	case 2:
		s.Drift = []v1alpha1.DriftRecord{{
			Ref: "File/file-002", FirstSeen: metav1.NewTime(time.Now().Add(-5 * time.Hour)), LastSeen: metav1.NewTime(time.Now().Add(-time.Hour)),
			Count: 3, Corrected: true, Properties: []string{"content", "mode"}, Author: &v1alpha1.Author{Executable: "/usr/bin/vim.basic", PID: 4711, LoginUID: new(int64(1000))},
		}}
	}
	return s
}

// bindClusterRole gives a user a cluster role.
func (f *fixture) bindClusterRole(t *testing.T, user, role string) {
	t.Helper()
	err := f.admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// serveUI runs kubectl fettle ui as a user, and returns the address that it prints.
func (f *fixture) serveUI(t *testing.T, user string) string {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, f.cfg, user); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), f.fettle, "ui", "--kubeconfig", kubeconfig)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "Open "))
}

package live_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/live"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// until calls f after each change until it returns no error.
func until(t *testing.T, fleet *live.Cache, f func() error) {
	t.Helper()
	deadline := time.NewTimer(patient.Limit)
	defer deadline.Stop()
	for {
		_, next := fleet.Version()
		err := f()
		if err == nil {
			return
		}
		select {
		case <-next:
		case <-deadline.C:
			t.Fatal(err)
		}
	}
}

// want compares what a function returns, once everything was read.
func want[T any](t *testing.T, fleet *live.Cache, expected []string, all func() ([]T, error), name func(T) string) {
	t.Helper()
	until(t, fleet, func() error {
		got, err := all()
		if err != nil {
			return err
		}
		var names []string
		for _, o := range got {
			names = append(names, name(o))
		}
		if diff := cmp.Diff(expected, names); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

func nodeName(n overview.NodeCatalog) string { return n.Name + " " + string(n.Status.Facts) }

func TestFleetFollowsTheCluster(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	admin := controlplane.Admin(t, cfg)
	ctx := t.Context()
	put := func(o client.Object) {
		t.Helper()
		if err := admin.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	fleet, err := live.Watch(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.NodeCatalogs(); !errors.Is(err, live.ErrReading) {
		t.Errorf("before anything was read: %v", err)
	}
	want(t, fleet, nil, fleet.NodeCatalogs, nodeName)

	one := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	put(&v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: "n2"}})
	put(one)
	want(t, fleet, []string{"n1 ", "n2 "}, fleet.NodeCatalogs, nodeName)
	one.Status.Facts = facts(`{"os":{"name":"Debian"}}`)
	if err := admin.Status().Update(ctx, one); err != nil {
		t.Fatal(err)
	}
	want(t, fleet, []string{`n1 {"os":{"name":"Debian"}}`, "n2 "}, fleet.NodeCatalogs, nodeName)
	if err := admin.Delete(ctx, one); err != nil {
		t.Fatal(err)
	}
	want(t, fleet, []string{"n2 "}, fleet.NodeCatalogs, nodeName)

	history := func() ([]v1alpha1.FleetHour, error) {
		status, err := fleet.FleetStatus()
		return status.History, err
	}
	drifting := func(h v1alpha1.FleetHour) string { return fmt.Sprint(h.Drifting) }
	want(t, fleet, nil, history, drifting)
	sum := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName}}
	put(sum)
	sum.Status.History = []v1alpha1.FleetHour{{Hour: metav1.Now(), Drifting: 3}}
	if err := admin.Status().Update(ctx, sum); err != nil {
		t.Fatal(err)
	}
	want(t, fleet, []string{"3"}, history, drifting)
	if all, err := fleet.Entries(ctx, "n2"); err != nil || len(all) != 0 {
		t.Errorf("an empty catalog: %v, %v", all, err)
	}

	put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2", Labels: map[string]string{"role": "web"}}})
	put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n3"}})
	want(t, fleet, []string{"n2 web true", "n3  false"}, fleet.Nodes, func(c overview.Node) string {
		return c.Name + " " + c.Labels["role"] + " " + map[bool]string{true: "true", false: "false"}[c.Catalog != nil]
	})

	put(&v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: "ann"}, Spec: v1alpha1.UserSpec{Targeting: everywhere()}})
	put(&v1alpha1.File{ObjectMeta: metav1.ObjectMeta{Name: "motd"}, Spec: v1alpha1.FileSpec{Targeting: everywhere(), FileAttributes: v1alpha1.FileAttributes{Path: "/etc/motd"}}})
	want(t, fleet, []string{"File/motd", "User/ann"}, func() ([]overview.Resource, error) { return fleet.Resources(ctx) }, func(r overview.Resource) string { return string(r.Ref()) })
}

func TestRolloutsAreFollowed(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	admin := controlplane.Admin(t, cfg)
	ctx := t.Context()
	fleet, err := live.Watch(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	want(t, fleet, nil, fleet.Policies, func(p v1alpha1.RolloutPolicy) string { return p.Name })

	revisions := []string{"sha256-" + strings.Repeat("1", 64), "sha256-" + strings.Repeat("2", 64)}
	for i, name := range revisions {
		catalog := &v1alpha1.Catalog{ObjectMeta: metav1.ObjectMeta{Name: name}, Entries: []v1alpha1.CatalogEntry{{
			Kind: "File", Name: "motd", Namevar: "/etc/motd", Attributes: &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"content":"%d"}`, i)},
		}}}
		target := v1alpha1.RevisionTarget{NodeSelector: &metav1.LabelSelector{}, Catalogs: []v1alpha1.CatalogRef{{Name: name}}}
		r := &v1alpha1.CatalogRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Count: 1, Targets: []v1alpha1.RevisionTarget{target}}
		if err := errors.Join(admin.Create(ctx, catalog), admin.Create(ctx, r)); err != nil {
			t.Fatal(err)
		}
	}
	prod := &v1alpha1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	prod.Spec.NodeSelector = &metav1.LabelSelector{}
	if err := admin.Create(ctx, prod); err != nil {
		t.Fatal(err)
	}
	want(t, fleet, []string{"prod"}, fleet.Policies, func(p v1alpha1.RolloutPolicy) string { return p.Name })

	has := &overview.NodeCatalog{}
	has.Spec.Rollout = &v1alpha1.NodeRollout{Policy: "prod", Revision: revisions[0]}
	node := overview.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Catalog: has}
	waitsFor := func() ([]v1alpha1.ResourceRef, error) {
		waits, err := fleet.Waits(ctx, []overview.Node{node})
		refs, _ := waits.OfNode(node)
		return refs, err
	}
	ref := func(r v1alpha1.ResourceRef) string { return string(r) }
	for _, step := range []struct {
		status v1alpha1.RolloutPolicyStatus
		want   []string
	}{
		{v1alpha1.RolloutPolicyStatus{Stable: revisions[0], Target: revisions[1]}, []string{"File/motd"}},
		{v1alpha1.RolloutPolicyStatus{Stable: revisions[0], Target: revisions[0]}, nil},
		{v1alpha1.RolloutPolicyStatus{Stable: revisions[0], Pending: revisions[1]}, []string{"File/motd"}},
		// The pending revision is stored once its rollout begins.
		{v1alpha1.RolloutPolicyStatus{Stable: revisions[1], Pending: "sha256-" + strings.Repeat("3", 64)}, []string{"File/motd"}},
	} {
		prod.Status = step.status
		if err := admin.Status().Update(ctx, prod); err != nil {
			t.Fatal(err)
		}
		want(t, fleet, step.want, waitsFor, ref)
	}
}

func TestCallersSeeOnlyWhatTheyMayRead(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	admin := controlplane.Admin(t, cfg)
	ann := rest.CopyConfig(cfg)
	ann.Impersonate = rest.ImpersonationConfig{UserName: "ann"}
	fleet, err := live.Watch(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	until(t, fleet, func() error {
		if _, err := fleet.NodeCatalogs(); !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("NodeCatalogs are not forbidden"), err)
		}
		return nil
	})
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"fettle.dev"}, Resources: []string{"nodecatalogs"}, Verbs: []string{"list", "watch"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "ann"}},
	}
	if err := errors.Join(admin.Create(t.Context(), role), admin.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	want(t, fleet, nil, fleet.NodeCatalogs, nodeName)
	until(t, fleet, func() error {
		if _, err := fleet.Nodes(); !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("Nodes are not forbidden"), err)
		}
		return nil
	})
}

func facts(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

func everywhere() v1alpha1.Targeting {
	return v1alpha1.Targeting{NodeSelector: &metav1.LabelSelector{}}
}

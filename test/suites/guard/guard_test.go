package guard_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// tokens are the agents' tokens with their nodes. Two have none.
var tokens = []string{"node-a", "node-b", "node-bound", "pod on no node", "bound to nothing"}

func TestAgentWritesOwnNodeOnly(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	c := newCluster(t, cfg)
	shipped := c.try(t)
	widen(t, c)
	widened := c.try(t)

	t.Run("with the permissions of config/rbac", func(t *testing.T) {
		compare(t, []string{
			"node-a: apply Lease fettle-nodes/node-a", "node-a: apply status of NodeCatalog node-a",
			"node-a: patch Lease fettle-nodes/node-a", "node-a: patch status of NodeCatalog node-a",
			"node-b: apply Lease fettle-nodes/node-b", "node-b: apply status of NodeCatalog node-b",
			"node-b: patch Lease fettle-nodes/node-b", "node-b: patch status of NodeCatalog node-b",
			"node-bound: apply Lease fettle-nodes/node-bound", "node-bound: apply status of NodeCatalog node-bound",
			"node-bound: patch Lease fettle-nodes/node-bound", "node-bound: patch status of NodeCatalog node-bound",
		}, shipped)
	})
	t.Run("with all permissions", func(t *testing.T) {
		compare(t, []string{
			"node-a: apply Lease fettle-nodes/node-a", "node-a: apply status of NodeCatalog node-a",
			"node-a: patch Lease fettle-nodes/node-a", "node-a: patch status of NodeCatalog node-a",
			"node-a: update Lease fettle-nodes/node-a", "node-a: update status of NodeCatalog node-a",
			"node-b: apply Lease fettle-nodes/node-b", "node-b: apply status of NodeCatalog node-b",
			"node-b: patch Lease fettle-nodes/node-b", "node-b: patch status of NodeCatalog node-b",
			"node-b: update Lease fettle-nodes/node-b", "node-b: update status of NodeCatalog node-b",
			"node-bound: apply Lease fettle-nodes/node-bound", "node-bound: apply status of NodeCatalog node-bound",
			"node-bound: patch Lease fettle-nodes/node-bound", "node-bound: patch status of NodeCatalog node-bound",
			"node-bound: update Lease fettle-nodes/node-bound", "node-bound: update status of NodeCatalog node-bound",
		}, widened)
		for attempt, err := range widened {
			if err != nil && !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'fettle-nodeagent'") {
				t.Errorf("%s was denied, but not by the policy: %v", attempt, err)
			}
		}
	})
	t.Run("cannot create its own objects", func(t *testing.T) {
		for name, err := range c.tryToMakeOwn(t, "node-new") {
			if err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'fettle-nodeagent'") || !strings.Contains(err.Error(), "not CREATE") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("is denied with a reason", func(t *testing.T) {
		for attempt, want := range map[string]string{
			"node-a: patch status of NodeCatalog node-b":         "the agent of node node-a may update the status of NodeCatalog node-a, renew Lease fettle-nodes/node-a and renew its own token, and nothing else: not UPDATE nodecatalogs.fettle.dev/status node-b",
			"node-a: patch Lease kube-system/node-a":             "and nothing else: not UPDATE leases.coordination.k8s.io kube-system/node-a",
			"node-a: delete File motd":                           "and nothing else: not DELETE files.fettle.dev motd",
			"node-a: take over Lease fettle-nodes/node-a":        "metadata and leaseDurationSeconds of the Lease are the manager's",
			"node-a: hand on Lease fettle-nodes/node-a":          "the holder of the Lease is node-a",
			"pod on no node: patch status of NodeCatalog node-a": "an agent whose token names no node may write nothing, so not UPDATE nodecatalogs.fettle.dev/status node-a: give it a token that is bound to a pod on its node",
			"bound to nothing: create Lease node-a-02":           "an agent whose token names no node may write nothing",
		} {
			if got := fmt.Sprint(widened[attempt]); !strings.Contains(got, want) {
				t.Errorf("the response to %s is %s, want %s", attempt, got, want)
			}
		}
	})
	t.Run("cannot write long reports", func(t *testing.T) {
		own := c.agents["node-a"].Resource(v1alpha1.GroupVersion.WithResource("nodecatalogs"))
		for field, patch := range burdens() {
			_, err := own.Patch(t.Context(), "node-a", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field+":") {
				t.Errorf("%s was accepted, or denied for another reason: %.200v", field, err)
			}
		}
	})
	t.Run("changes no other object", func(t *testing.T) {
		if diff := cmp.Diff(c.before, c.versions(t)); diff != "" {
			t.Error(diff)
		}
	})
}

// widen grants agents all permissions.
func widen(t *testing.T, c *cluster) {
	t.Helper()
	must(t, c.admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "by-mistake"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}},
	}))
	c.awaitRights(t)
}

// compare fails the test unless exactly these attempts succeeded and all others were forbidden.
func compare(t *testing.T, want []string, attempts map[string]error) {
	t.Helper()
	var got []string
	for attempt, err := range attempts {
		switch {
		case err == nil:
			got = append(got, attempt)
		case apierrors.ReasonForError(err) != metav1.StatusReasonForbidden || status(err) != http.StatusForbidden:
			t.Errorf("%s was not forbidden: %v", attempt, err)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("allowed attempts (-want +got):\n%s", diff)
	}
	const objects, verbs = 9, 5 // some objects have more verbs
	if least := len(tokens) * objects * verbs; len(attempts) < least {
		t.Errorf("%d attempts were made, fewer than %d", len(attempts), least)
	}
}

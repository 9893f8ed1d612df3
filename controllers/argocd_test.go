package controllers_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/test/fixtures/golden"
)

// The statuses that the health checks of Argo CD are tested with are those that the manager writes.
func TestHealthChecksUseRealStatuses(t *testing.T) {
	t.Parallel()

	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	status := func(counts v1alpha1.NodeCounts, about ...any) v1alpha1.ResourceStatus {
		var samples []v1alpha1.NodeSample
		var problems []compiler.Problem
		for _, a := range about {
			switch a := a.(type) {
			case v1alpha1.NodeSample:
				samples = append(samples, a)
			case compiler.Problem:
				problems = append(problems, a)
			}
		}
		return conditions.Status(conditions.Outcome{Generation: 1, Selector: "nodeSelector role=web", Summary: nodestatus.Summary{Counts: counts, Samples: samples}, Problems: problems}, v1alpha1.ResourceStatus{}, at)
	}
	silent := func(unapplied int32) v1alpha1.ResourceStatus {
		s := conditions.Status(conditions.Outcome{Generation: 1, Summary: nodestatus.Summary{Counts: v1alpha1.NodeCounts{Selected: 3, InSync: 2, Unknown: 1}, Unapplied: unapplied}}, v1alpha1.ResourceStatus{}, metav1.Time{})
		for i := range s.Conditions {
			s.Conditions[i].LastTransitionTime = at
		}
		return s
	}
	none, all := v1alpha1.NodeCounts{}, v1alpha1.NodeCounts{Selected: 3, InSync: 3}
	waits := v1alpha1.NodeCounts{Selected: 3, Skipped: 3}
	broken := v1alpha1.NodeSample{Node: "web-7", State: v1alpha1.StateFailed, Message: "cannot write /etc/motd: no space left on device"}

	for name, o := range map[string]v1alpha1.File{
		"created":     {Status: v1alpha1.ResourceStatus{ObservedGeneration: -1}}, // as an API server has it
		"changed":     {ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: status(all)},
		"applying":    {Status: status(v1alpha1.NodeCounts{Selected: 3, InSync: 1, Pending: 2}, v1alpha1.NodeSample{Node: "web-2", State: v1alpha1.StatePending, Message: "the node has yet to apply it"})},
		"in-sync":     {Status: status(all)},
		"noop":        {Status: status(v1alpha1.NodeCounts{Selected: 3, InSync: 2, Noop: 1}, v1alpha1.NodeSample{Node: "web-7", State: v1alpha1.StateNoop, Message: `mode is "0600", should be "0644"`})},
		"no-node":     {Status: status(none)},
		"failed":      {Status: status(v1alpha1.NodeCounts{Selected: 3, InSync: 2, Failed: 1}, broken)},
		"failing":     {Status: status(v1alpha1.NodeCounts{Selected: 3, Failed: 1, Pending: 2}, broken)},
		"out-of-sync": {Status: status(v1alpha1.NodeCounts{Selected: 3, InSync: 2, OutOfSync: 1}, v1alpha1.NodeSample{Node: "web-7", State: "Later", Message: "a newer agent's word"})},
		"skipped":     {Status: status(v1alpha1.NodeCounts{Selected: 3, InSync: 2, Skipped: 1}, v1alpha1.NodeSample{Node: "web-7", State: v1alpha1.StateSkipped, Message: "skipped because of failed dependencies: Package/base"})},
		"conflict":    {Status: status(waits, compiler.Problem{Reason: v1alpha1.ReasonConflict, Message: `path "/etc/motd" is also claimed by File/banner on the same node: keep one, or let their nodeSelector or when exclude each other`})},
		"withheld":    {Status: status(waits, compiler.Problem{Reason: v1alpha1.ReasonMissingReference, Message: "require names Package/base, which does not exist, nor does any other Package on the node"})},
		"waiting":     {Status: status(waits, compiler.Problem{Node: "web-7", Reason: v1alpha1.ReasonWaitingForFacts, Message: "waits for the facts of node web-7, which its agent has not reported yet"})},
		"held":        {Status: status(v1alpha1.NodeCounts{Selected: 1, InSync: 1}, compiler.Problem{Reason: v1alpha1.ReasonDeselectionHeld, Message: "2 of 3 nodes would be deselected because they changed: confirm it"})},
		"silent":      {Status: silent(0)},
		"unheard-of":  {Status: silent(1)},
		"deleted":     {ObjectMeta: metav1.ObjectMeta{Generation: 2, DeletionTimestamp: &at, Finalizers: []string{v1alpha1.FinalizerCleanup}}, Status: conditions.Status(conditions.Outcome{Generation: 2, Summary: nodestatus.Summary{Counts: v1alpha1.NodeCounts{Selected: 2, Pending: 2}}, Cleanup: "2 nodes have yet to apply its deletion: web-1, web-2"}, v1alpha1.ResourceStatus{AppliedGeneration: 1}, at)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "File"}
			o.Name, o.Generation = "motd", max(o.Generation, 1)
			o.Spec = file("", "/etc/motd", on("web")).Spec
			golden.YAML(t, filepath.Join("../config/argocd/testdata", name+".yaml"), o)
		})
	}
	for name, status := range map[string]v1alpha1.ResourceStatus{
		"created":      {ObservedGeneration: -1}, // as an API server has it
		"in-sync":      conditions.Status(conditions.Outcome{Generation: 1, ActingNode: "web-1", Summary: nodestatus.Summary{Counts: v1alpha1.NodeCounts{Selected: 1, InSync: 1}}}, v1alpha1.ResourceStatus{}, at),
		"moving":       status(none, compiler.Problem{Reason: v1alpha1.ReasonMoving, Message: "node web-2 takes over once web-1 has stopped acting for it"}),
		"no-node":      status(none, compiler.Problem{Reason: v1alpha1.ReasonNoActingNode, Message: "no selected node has an agent that could act for it"}),
		"missing-type": status(waits, compiler.Problem{Reason: v1alpha1.ReasonMissingType, Message: "the kind DNSZone has no ExternalType dnszones: apply the one that fettle type build writes"}),
		"failed":       status(v1alpha1.NodeCounts{Selected: 1, Failed: 1}, v1alpha1.NodeSample{Node: "web-1", State: v1alpha1.StateFailed, Message: "401 Unauthorized"}),
	} {
		t.Run("external "+name, func(t *testing.T) {
			t.Parallel()
			o := v1alpha1.External{Status: status}
			o.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.ExternalGroupVersion.String(), Kind: "DNSZone"}
			o.Name, o.Generation, o.Spec.NodeSelector = "example.org", 1, &metav1.LabelSelector{}
			golden.YAML(t, filepath.Join("../config/argocd/testdata", "external-"+name+".yaml"), o)
		})
	}
}

var _ = Describe("Argo CD's ConfigMap", func() {
	It("receives health checks without losing other keys", func(ctx SpecContext) {
		create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}})
		theirs := filepath.Join(GinkgoT().TempDir(), "argocd-cm.json")
		text := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm", "namespace": "argocd"}, "data": {"url": "https://argocd.example.org"}}`
		Expect(os.WriteFile(theirs, []byte(text), 0o600)).To(Succeed())
		kubectl("apply", "-f", theirs)
		for _, again := range [][]string{{"apply", "-f", theirs}, {"apply", "--server-side", "--force-conflicts", "-f", theirs}} {
			kubectl("apply", "--server-side", "--field-manager=fettle", "-k", "../config/argocd")
			kubectl(again...)
			var cm corev1.ConfigMap
			Expect(k8s.Get(ctx, client.ObjectKey{Namespace: "argocd", Name: "argocd-cm"}, &cm)).To(Succeed())
			Expect(cm.Data).To(And(HaveLen(4+len(v1alpha1.Resources())), HaveKey("url"), HaveKey("resource.customizations.health.fettle.dev_RolloutPolicy"), HaveKey("resource.customizations.health.fettle.dev_File")))
		}

		By("kinds of external types have keys of their own, as in docs/gitops.md")
		types := filepath.Join(GinkgoT().TempDir(), "types.yaml")
		Expect(os.WriteFile(types, []byte(kubectl("create", "configmap", "argocd-cm", "--namespace", "argocd", "--dry-run=client", "--output", "yaml",
			"--from-file", "resource.customizations.health.types.fettle.dev_DNSZone=../config/argocd/health.lua",
			"--from-file", "resource.customizations.health.types.fettle.dev_DNSRecord=../config/argocd/health.lua")), 0o600)).To(Succeed())
		kubectl("apply", "--server-side", "--field-manager=fettle-types", "-f", types)
		kubectl("apply", "--server-side", "--field-manager=fettle", "-k", "../config/argocd")
		var cm corev1.ConfigMap
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: "argocd", Name: "argocd-cm"}, &cm)).To(Succeed())
		Expect(cm.Data).To(And(HaveLen(6+len(v1alpha1.Resources())), HaveKey("url")))
		script, err := os.ReadFile("../config/argocd/health.lua")
		Expect(err).NotTo(HaveOccurred())
		Expect(cm.Data).To(HaveKeyWithValue("resource.customizations.health.types.fettle.dev_DNSZone", string(script)))
	})
})

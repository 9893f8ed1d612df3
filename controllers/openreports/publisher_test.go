package openreports_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	upstream "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// drifting is the status of a node with one resource in each state.
func drifting() v1alpha1.NodeCatalogStatus {
	since := func(d time.Duration) *metav1.Time { at := ago(d); return &at }
	change := []v1alpha1.PropertyChange{{Property: "content", Is: "MARKER-IS", Should: "MARKER-SHOULD"}, {Property: "mode", Is: "MARKER"}}
	return v1alpha1.NodeCatalogStatus{
		Counts: &v1alpha1.RunCounts{Total: 10, InSync: 7, Changed: 1, OutOfSync: 2, Failed: 1, Skipped: 1, Noop: 1},
		Resources: []v1alpha1.ResourceReport{
			{Ref: "Package/nginx", State: v1alpha1.StateFailed, Message: "MARKER of a tool", Since: since(time.Hour)},
			{Ref: "SystemService/nginx", State: v1alpha1.StateSkipped, Message: "MARKER"},
			{Ref: "File/motd", State: v1alpha1.StateNoop, Changes: change, Corrective: true, Since: since(2 * time.Hour)},
			{Ref: "File/banner", State: v1alpha1.StateChanged, Changes: change, Corrective: true, Since: since(time.Minute)},
		},
		Drift: []v1alpha1.DriftRecord{
			{Ref: "File/banner", FirstSeen: ago(48 * time.Hour), LastSeen: ago(time.Minute), Count: 3, Corrected: true, Properties: []string{"content", "mode"}, Author: &v1alpha1.Author{Executable: "/usr/bin/vim", PID: 7}},
			{Ref: "File/motd", FirstSeen: ago(2 * time.Hour), LastSeen: ago(2 * time.Hour), Count: 1, Properties: []string{"content"}},
			{Ref: "User/ann", FirstSeen: ago(23 * time.Hour), LastSeen: ago(23 * time.Hour), Count: 9, Corrected: true, Contended: true},
			{Ref: "User/bob", FirstSeen: ago(25 * time.Hour), LastSeen: ago(25 * time.Hour), Count: 1, Corrected: true},
		},
	}
}

func TestReportListsDriftFailuresAndDifferences(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.define()
	w.permit()
	nc := w.node("web-1", drifting())
	w.node("web-2", v1alpha1.NodeCatalogStatus{Counts: &v1alpha1.RunCounts{Total: 4, InSync: 4}})
	w.node("web-3", v1alpha1.NodeCatalogStatus{}) // has not reported yet
	silent := w.node("web-4", v1alpha1.NodeCatalogStatus{Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDisabled, Message: "MARKER", LastTransitionTime: ago(time.Hour),
	}}})
	silent.Annotations = map[string]string{v1alpha1.AnnotationSilentSince: ago(time.Minute).Format(time.RFC3339)}
	if err := w.admin.Update(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	blocked := func(reason string, counts v1alpha1.RunCounts) v1alpha1.NodeCatalogStatus {
		return v1alpha1.NodeCatalogStatus{Counts: &counts, Conditions: []metav1.Condition{
			{Type: "Ready", Status: "False", Reason: reason, LastTransitionTime: ago(time.Hour)}, {Type: "Stalled", Status: "True", Reason: reason, LastTransitionTime: ago(time.Hour)},
		}}
	}
	w.node("web-5", blocked("Disabled", v1alpha1.RunCounts{Total: 4, InSync: 3, Failed: 1}))
	held := blocked("UpdateHeld", v1alpha1.RunCounts{Total: 3, InSync: 2, Withheld: 1})
	held.Resources = []v1alpha1.ResourceReport{{Ref: "File/twice", State: v1alpha1.StateWithheld, Message: "MARKER", Since: new(ago(time.Hour))}}
	node := w.node("web-6", held)
	node.Spec.Withheld = []v1alpha1.Withheld{{Ref: "File/twice", Reason: "Conflict"}}
	if err := w.admin.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	unheard := w.node("web-7", v1alpha1.NodeCatalogStatus{Counts: &v1alpha1.RunCounts{Total: 5, InSync: 4, Failed: 1}})
	unheard.Annotations = silent.Annotations
	if err := w.admin.Update(t.Context(), unheard); err != nil {
		t.Fatal(err)
	}
	w.publish(0, 30*time.Second)

	at := func(d time.Duration) metav1.Timestamp { return metav1.Timestamp{Seconds: start.Add(-d).Unix()} }
	about := func(policy, category, rule string, result upstream.Result, severity upstream.ResultSeverity, message string, since time.Duration, properties map[string]string) upstream.ReportResult {
		return upstream.ReportResult{
			Source: "Fettle", Policy: policy, Rule: rule, Category: category, Result: result, Severity: severity, Scored: result != "warn",
			Description: message, Timestamp: at(since), Properties: properties,
		}
	}
	wantResults := map[string][]upstream.ReportResult{
		"fettle-web-1": {
			about("Package/nginx", "Package", "Failed", "fail", "high", "the resource failed: see the NodeCatalog", time.Hour, nil),
			about("File/banner", "File", "Drift", "warn", "low", "drift was corrected", time.Minute, map[string]string{"properties": "content, mode", "driftCount": "3", "corrected": "true", "author": "/usr/bin/vim"}),
			about("File/motd", "File", "Noop", "warn", "medium", "the node differs, which is only reported", 2*time.Hour, map[string]string{"properties": "content, mode", "driftCount": "1", "corrected": "false"}),
			about("User/ann", "User", "Contended", "warn", "medium", "something else changes the resource again and again", 23*time.Hour, map[string]string{"driftCount": "9", "corrected": "true"}),
		},
		"fettle-web-2": nil,
		"fettle-web-3": nil,
		"fettle-web-4": {
			about("NodeCatalog", "Node", "Silent", "error", "high", "the agent does not report", time.Minute, nil),
			about("NodeCatalog", "Node", "Disabled", "error", "high", "the catalog is not applied: see the NodeCatalog", time.Hour, nil),
		},
		"fettle-web-5": {about("NodeCatalog", "Node", "Disabled", "error", "high", "the catalog is not applied: see the NodeCatalog", time.Hour, nil)},
		"fettle-web-6": {
			about("NodeCatalog", "Node", "UpdateHeld", "error", "high", "the node is not updated, because too many nodes would be deselected: see the Fleet", time.Hour, nil),
			about("File/twice", "File", "Withheld", "fail", "medium", "the resource is withheld from the node: see the NodeCatalog", time.Hour, nil),
		},
		"fettle-web-7": {about("NodeCatalog", "Node", "Silent", "error", "high", "the agent does not report", time.Minute, nil)},
	}
	wantSummaries := map[string]upstream.ReportSummary{
		"fettle-web-1": {Pass: 5, Fail: 1, Warn: 3, Skip: 1},
		"fettle-web-2": {Pass: 4},
		"fettle-web-3": {},
		"fettle-web-4": {Error: 2},
		"fettle-web-5": {Error: 1, Fail: 1, Skip: 3},
		"fettle-web-6": {Error: 1, Fail: 1, Pass: 2},
		"fettle-web-7": {Error: 6},
	}
	results, summaries := map[string][]upstream.ReportResult{}, map[string]upstream.ReportSummary{}
	all := w.reports()
	for name, r := range all {
		results[name], summaries[name] = r.Results, r.Summary
	}
	if diff := cmp.Diff(wantResults, results); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantSummaries, summaries); diff != "" {
		t.Error(diff)
	}
	one := all["fettle-web-1"]
	if one.Source != "Fettle" || one.Configuration.Limits.MaxResults != 20 || one.Labels["app.kubernetes.io/managed-by"] != "fettle" {
		t.Errorf("the report is %+v", one)
	}
	if diff := cmp.Diff(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "web-1", UID: nc.OwnerReferences[0].UID}, one.Scope); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{{APIVersion: "fettle.dev/v1alpha1", Kind: "NodeCatalog", Name: "web-1", UID: nc.UID}}, one.OwnerReferences); diff != "" {
		t.Error(diff)
	}
	if raw, err := json.Marshal(all); err != nil || strings.Contains(string(raw), "MARKER") {
		t.Errorf("a report contains values or messages: %v\n%s", err, raw)
	}
	if got := w.recorded(); got != nil || w.log.String() != "" {
		t.Errorf("events: %q, log: %s", got, w.log)
	}
}

func TestReportsAreWrittenOnlyWhenTheyChange(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.define()
	w.permit()
	const nodes = 300
	for i := range nodes - 1 {
		w.node(fmt.Sprintf("n%d", i), v1alpha1.NodeCatalogStatus{Counts: &v1alpha1.RunCounts{Total: 4, InSync: 4}})
	}
	nc := w.node("web-1", drifting())
	w.publish(0, 30*time.Second)
	before := w.versions()
	if len(before) != nodes {
		t.Fatalf("%d reports, want %d", len(before), nodes)
	}
	same := func(what string) {
		t.Helper()
		if diff := cmp.Diff(before, w.versions()); diff != "" {
			t.Fatalf("%s: reports were written (-before +now):\n%s", what, diff)
		}
	}
	w.publish(30*time.Second, 30*time.Second)
	same("nothing happened")
	nc.Status.AgentVersion = "v2"
	w.report(nc, nc.Status)
	w.publish(30*time.Second, 30*time.Second)
	same("something else changed")
	w.restart()
	w.publish(30*time.Second, 30*time.Second)
	same("another manager leads")

	changed := func(what string) {
		t.Helper()
		now := w.versions()
		if now["fettle-web-1"] == before["fettle-web-1"] {
			t.Fatalf("%s: the report was not written", what)
		}
		before["fettle-web-1"] = now["fettle-web-1"]
		same(what)
	}
	w.publish(time.Hour, 30*time.Second)
	changed("drift is older than a day")
	nc.Status.Counts.InSync++
	w.report(nc, nc.Status)
	w.publish(30*time.Second, 30*time.Second)
	changed("the counts changed")

	deleteReport(w, "fettle-web-1")
	w.publish(30*time.Second, 30*time.Second)
	delete(before, "fettle-web-1")
	same("a report was deleted, which is noticed later")
	w.publish(10*time.Minute, 30*time.Second)
	before["fettle-web-1"] = ""
	changed("a report was deleted")
}

// deleteReport deletes a report.
func deleteReport(w *fixture, name string) {
	w.Helper()
	r := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
	r.SetGroupVersionKind(upstream.SchemeGroupVersion.WithKind("ClusterReport"))
	if err := w.admin.Delete(w.Context(), r); err != nil {
		w.Fatal(err)
	}
}

func TestReportIsReplacedWithItsNode(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.define()
	w.permit()
	old := w.node("web-1", drifting())
	w.publish(0, 30*time.Second)
	// The garbage collector would delete the NodeCatalog and the report.
	for _, o := range []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}, old} {
		if err := w.admin.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	deleteReport(w, "fettle-web-1")
	w.publish(30*time.Second, 30*time.Second)
	if all := w.reports(); len(all) > 0 {
		t.Errorf("a node that is gone has a report: %v", all)
	}
	w.node("web-1", drifting())
	w.publish(30*time.Second, 30*time.Second)

	// This time the garbage collector is late.
	next := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}
	for _, o := range []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}, next} {
		if err := w.admin.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	next = w.node("web-1", drifting())
	w.publish(30*time.Second, 30*time.Second)
	owners := w.reports()["fettle-web-1"].OwnerReferences
	if len(owners) != 1 || owners[0].UID != next.UID {
		t.Errorf("the report belongs to %v, not to %s: the garbage collector would delete it", owners, next.UID)
	}
}

func TestAMissingDefinitionOrRightIsReportedOnce(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.node("web-1", drifting())
	const event = "Warning ReportsNotWritten "
	w.publish(0, 5*time.Minute)
	w.publish(5*time.Minute, 5*time.Minute)
	want := []string{event + "the manager may not write ClusterReports: apply config/openreports, or remove the manager's flag --open-reports"}
	if diff := cmp.Diff(want, w.recorded()); diff != "" {
		t.Errorf("without the right: %s", diff)
	}
	w.permit()
	w.restart()
	w.publish(5*time.Minute, 5*time.Minute)
	w.publish(5*time.Minute, 5*time.Minute)
	want = []string{event + "the cluster has no kind ClusterReport of openreports.io/v1alpha1: install its CustomResourceDefinition, or remove the manager's flag --open-reports"}
	if diff := cmp.Diff(want, w.recorded()); diff != "" {
		t.Errorf("without the definition: %s", diff)
	}
	w.define()
	w.publish(5*time.Minute, 30*time.Second)
	if len(w.reports()) != 1 || !strings.Contains(w.log.String(), "reports for nodes are written again") {
		t.Errorf("the report was not written:\n%s", w.log)
	}
}

func TestAReportThatTheClusterRejectsDelaysNoOther(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.define()
	w.permit()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(denial), 0o600); err != nil {
		t.Fatal(err)
	}
	controlplane.Kubectl(t, w.kube, "apply", "-f", file)
	denied := &upstream.ClusterReport{TypeMeta: metav1.TypeMeta{APIVersion: "openreports.io/v1alpha1", Kind: "ClusterReport"}, ObjectMeta: metav1.ObjectMeta{Name: "fettle-web-1"}}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(denied)
	if err != nil {
		t.Fatal(err)
	}
	w.eventually("the policy to be in force", func() bool {
		return apierrors.IsForbidden(w.admin.Create(t.Context(), &unstructured.Unstructured{Object: raw}, client.DryRunAll))
	})
	w.node("web-1", drifting())
	w.node("web-2", drifting())
	w.publish(0, 30*time.Second)
	w.node("web-3", drifting())
	w.publish(30*time.Second, 30*time.Second)
	if got := slices.Sorted(maps.Keys(w.reports())); !slices.Equal(got, []string{"fettle-web-2", "fettle-web-3"}) {
		t.Errorf("the reports are %v", got)
	}
	controlplane.Kubectl(t, w.kube, "delete", "-f", file)
	w.eventually("the policy to be gone", func() bool {
		return w.admin.Create(t.Context(), &unstructured.Unstructured{Object: raw}, client.DryRunAll) == nil
	})
	w.publish(30*time.Second, 30*time.Second)
	if n := len(w.reports()); n != 3 {
		t.Errorf("%d reports", n)
	}
	want := []string{"Warning ReportsNotWritten some ClusterReports cannot be written, which is retried: see the manager's log"}
	if diff := cmp.Diff(want, w.recorded()); diff != "" || strings.Count(w.log.String(), "\n") != 2 {
		t.Errorf("events: %s\nlog: %s", diff, w.log)
	}
}

// denial rejects the report on one node.
const denial = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: deny}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - {apiGroups: [openreports.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [clusterreports]}
  validations:
    - {expression: "object.metadata.name != 'fettle-web-1'", reason: Forbidden}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: deny}
spec: {policyName: deny, validationActions: [Deny]}
`

func TestHostileStatusesMakeBoundedReports(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.define()
	w.permit()
	status := v1alpha1.NodeCatalogStatus{Counts: &v1alpha1.RunCounts{Total: -5, InSync: -7, Failed: 1 << 30}}
	far := metav1.NewTime(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	for i := range 50 {
		status.Resources = append(status.Resources, v1alpha1.ResourceReport{
			Ref: v1alpha1.ReportedRef(fmt.Sprintf("File/%d\n\x1b[31m%s", i, strings.Repeat("x", 4000))), State: v1alpha1.StateFailed, Since: &far,
			Changes: []v1alpha1.PropertyChange{{Property: strings.Repeat("p\n", 500)}},
		})
	}
	for i := range 20 {
		status.Drift = append(status.Drift, v1alpha1.DriftRecord{
			Ref: v1alpha1.ReportedRef(fmt.Sprintf("File/%d", i%3)), FirstSeen: far, LastSeen: far, Count: 1_000_000_000, Corrected: true,
			Author: &v1alpha1.Author{Executable: "/\x1b[31m"},
		})
	}
	w.node("web-1", status)
	w.node("web-2", drifting())
	long := strings.Repeat("n.", 126) + "n" // as long as a name can be
	w.node(long, drifting())
	w.publish(0, 30*time.Second)
	all := w.reports()
	if len(all) != 3 {
		t.Errorf("%d reports:\n%s", len(all), w.log)
	}
	hostile := all["fettle-web-1"]
	raw, err := json.Marshal(hostile)
	if err != nil || len(hostile.Results) != 20 || len(raw) > 32<<10 || strings.Contains(string(raw), "\\u001b") || strings.Contains(string(raw), "\x1b") {
		t.Errorf("the report has %d results and %d bytes (%v):\n%s", len(hostile.Results), len(raw), err, raw)
	}
	if diff := cmp.Diff(upstream.ReportSummary{Fail: 1 << 30, Warn: 3}, hostile.Summary); diff != "" {
		t.Error(diff)
	}
	before := w.versions()
	w.publish(30*time.Second, 30*time.Second)
	if diff := cmp.Diff(before, w.versions()); diff != "" {
		t.Errorf("the report is written again and again: %s", diff)
	}
}

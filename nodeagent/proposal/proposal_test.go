package proposal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/nodeagent/catalogs"
	"github.com/fettle-dev/fettle/nodeagent/proposal"
)

func entry(kind, name string) v1alpha1.CatalogEntry {
	return v1alpha1.CatalogEntry{Kind: kind, Name: name}
}

func TestChangeReplacesAddsAndRemovesEntries(t *testing.T) {
	t.Parallel()
	before := &catalogs.Target{UID: "u", Digest: "base", Entries: []v1alpha1.CatalogEntry{entry("File", "a"), entry("File", "b"), entry("User", "c")}}
	next := entry("File", "b")
	next.Provider = "new"
	got, err := proposal.Apply(before, &reports.Proposal{
		Base: "base", Digest: "next", Entries: []v1alpha1.CatalogEntry{next, entry("Exec", "d")}, Remove: []v1alpha1.ResourceRef{"User/c"}, Withheld: []v1alpha1.ResourceRef{"File/w", "File/x"},
		Reasons: []v1alpha1.Withheld{{Ref: "File/x", Reason: "Conflict", Message: "of two", Location: "/x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &catalogs.Target{
		UID: "u", Digest: "next", Entries: []v1alpha1.CatalogEntry{entry("Exec", "d"), entry("File", "a"), next},
		Spec: v1alpha1.NodeCatalogSpec{Withheld: []v1alpha1.Withheld{{Ref: "File/w"}, {Ref: "File/x", Reason: "Conflict", Message: "of two", Location: "/x"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(before.Entries) != 3 || before.Digest != "base" {
		t.Errorf("the target itself has changed: %v", before)
	}
}

func resource(kind, name string, state report.State, message string) report.ResourceReport {
	return report.ResourceReport{Ref: report.Ref{Kind: kind, Name: name}, State: state, Message: message, Duration: report.Duration(len(message))}
}

func TestEffectHasOnlyWhatTheChangeAffects(t *testing.T) {
	t.Parallel()
	const unknown = reports.NotChecked + "it is an Exec"
	notifies, subscribes := entry("File", "changes"), entry("Exec", "subscribes")
	notifies.Edges = &v1alpha1.Edges{Notify: []v1alpha1.ResourceRef{"Exec/notified"}}
	subscribes.Edges = &v1alpha1.Edges{Subscribe: []v1alpha1.ResourceRef{"File/changes"}}
	other := entry("Exec", "other")
	other.Edges = &v1alpha1.Edges{Subscribe: []v1alpha1.ResourceRef{"File/drifts"}}
	before := []report.ResourceReport{
		resource("File", "changes", report.InSync, ""), resource("File", "drifts", report.Noop, "drift"), resource("File", "corrects", report.Noop, "drift"),
		resource("Exec", "notified", report.Skipped, unknown), resource("Exec", "subscribes", report.Skipped, unknown), resource("Exec", "other", report.Skipped, unknown),
		resource("Exec", "edited", report.Skipped, unknown), resource("DNSZone", "removed", report.Skipped, unknown),
	}
	slower := resource("File", "drifts", report.Noop, "drift")
	slower.Duration = 99
	after := []report.ResourceReport{
		resource("File", "changes", report.Noop, "changed"), slower, resource("File", "corrects", report.InSync, ""),
		resource("File", "new", report.InSync, ""), resource("File", "created", report.Noop, "created"),
		resource("Exec", "notified", report.Skipped, unknown), resource("Exec", "subscribes", report.Skipped, unknown), resource("Exec", "other", report.Skipped, unknown),
		resource("Exec", "edited", report.Skipped, unknown), resource("DNSZone", "removed", report.Skipped, unknown),
	}
	got := proposal.Effect(report.Report{Resources: before}, report.Report{Resources: after}, []v1alpha1.CatalogEntry{notifies, subscribes, other}, &reports.Proposal{
		Entries: []v1alpha1.CatalogEntry{notifies, entry("File", "new"), entry("File", "created"), entry("Exec", "edited")}, Remove: []v1alpha1.ResourceRef{"DNSZone/removed"},
	})
	var lines []string
	for _, res := range got.Resources {
		lines = append(lines, res.Ref.String()+" "+string(res.State)+" "+res.Message)
	}
	want := []string{
		"File/changes Noop changed", "File/corrects InSync ", "File/created Noop created",
		"Exec/notified Skipped " + unknown + "; the change would refresh it", "Exec/subscribes Skipped " + unknown + "; the change would refresh it",
		"Exec/edited Skipped " + unknown, "DNSZone/removed Skipped " + unknown,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(report.Counts{Total: 7, Noop: 2, InSync: 1, Skipped: 4}, got.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// A plan compares all but what comes from a Secret, and says so, also of a resource that is otherwise in sync.
func TestAttributesFromSecretsAreNotCompared(t *testing.T) {
	t.Parallel()
	sealed := entry("File", "sealed")
	sealed.Sealed = []v1alpha1.SealedValue{{Attribute: "content"}, {Attribute: "ca"}}
	target, unopened := proposal.Unopened(&catalogs.Target{Digest: "d", Entries: []v1alpha1.CatalogEntry{entry("File", "plain"), sealed}})
	if diff := cmp.Diff(&catalogs.Target{Digest: "d", Entries: []v1alpha1.CatalogEntry{entry("File", "plain"), entry("File", "sealed")}}, target); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const note = reports.NotCompared + "content, ca, from a Secret"
	after := []report.ResourceReport{resource("File", "plain", report.InSync, ""), resource("File", "sealed", report.InSync, ""), resource("File", "sealed", report.Noop, "why")}
	for i := range after {
		proposal.NoteUnopened(&after[i], unopened)
	}
	got := proposal.Effect(report.Report{Resources: after}, report.Report{Resources: after}, nil, &reports.Proposal{Entries: []v1alpha1.CatalogEntry{sealed}})
	var lines []string
	for _, res := range got.Resources {
		lines = append(lines, res.Ref.String()+" "+string(res.State)+" "+res.Message)
	}
	if diff := cmp.Diff([]string{"File/sealed InSync " + note, "File/sealed Noop why; " + note}, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

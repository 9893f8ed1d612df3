// Package nodestatetest has a node in each state, and in combinations of states, for tests that all who count nodes count them alike.
package nodestatetest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
)

// A Case is a node with its state, and the resources on it.
type Case struct {
	Name        string
	NodeCatalog *v1alpha1.NodeCatalog
	State       nodestate.State
	Counts      nodestate.Counts
}

// A Change is something that happens to a node.
type Change func(*v1alpha1.NodeCatalog)

func at(minute int) metav1.Time { return metav1.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }

// Ready returns a node with a condition Ready, and counts of the resources after its last run. It has applied its catalog.
func Ready(status metav1.ConditionStatus, reason string, counts v1alpha1.RunCounts) *v1alpha1.NodeCatalog {
	counts.Total = counts.InSync + counts.Noop + counts.Failed + counts.Skipped
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	nc.Status = v1alpha1.NodeCatalogStatus{ObservedGeneration: 3, AppliedGeneration: 3, Counts: &counts, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: "because", LastTransitionTime: at(0)},
	}}
	return nc
}

// InSync returns a node with three resources in sync.
func InSync() *v1alpha1.NodeCatalog {
	return Ready(metav1.ConditionTrue, v1alpha1.ReasonApplied, v1alpha1.RunCounts{InSync: 3})
}

// Failed returns a node with a failed resource, and another one that depends on it.
func Failed() *v1alpha1.NodeCatalog {
	return Ready(metav1.ConditionFalse, v1alpha1.ReasonResourcesFailed, v1alpha1.RunCounts{InSync: 1, Failed: 1, Skipped: 1, OutOfSync: 1})
}

// With returns a node to which something happens, too.
func With(nc *v1alpha1.NodeCatalog, changes ...Change) *v1alpha1.NodeCatalog {
	for _, c := range changes {
		c(nc)
	}
	return nc
}

// Silent ends the heartbeats.
func Silent(nc *v1alpha1.NodeCatalog) {
	nc.Annotations = map[string]string{v1alpha1.AnnotationSilentSince: "2026-01-02T03:01:00Z"}
}

// Held holds the update.
func Held(nc *v1alpha1.NodeCatalog) {
	nc.Spec.Held = &v1alpha1.Held{Since: at(2), Resources: []v1alpha1.ResourceRef{"File/a", "File/b"}, Omitted: 3}
}

// Disabled disables runs, which the agent reports.
func Disabled(nc *v1alpha1.NodeCatalog) {
	nc.Status.Conditions[0].Status, nc.Status.Conditions[0].Reason = metav1.ConditionFalse, v1alpha1.ReasonDisabled
}

// Behind gives the node a catalog that its agent has not seen.
func Behind(nc *v1alpha1.NodeCatalog) { nc.Generation++ }

// Withheld withholds two resources, and one of a type that was uninstalled.
func Withheld(nc *v1alpha1.NodeCatalog) {
	nc.Spec.Withheld = []v1alpha1.Withheld{
		{Ref: "File/x", Reason: v1alpha1.ReasonConflict, Message: "File/y manages it, too"},
		{Ref: "File/y", Reason: v1alpha1.ReasonConflict, Message: "File/x manages it, too"},
		{Ref: "Zone/z", Reason: v1alpha1.ReasonUninstalled},
	}
}

// Cases are all states, and combinations of them.
func Cases() []Case {
	no, yes := metav1.ConditionFalse, metav1.ConditionTrue
	noop := func() *v1alpha1.NodeCatalog {
		return Ready(yes, v1alpha1.ReasonNoop, v1alpha1.RunCounts{InSync: 2, Noop: 1, OutOfSync: 1})
	}
	skipped := func() *v1alpha1.NodeCatalog {
		return Ready(no, v1alpha1.ReasonSkipped, v1alpha1.RunCounts{InSync: 2, Skipped: 1})
	}
	runFailed := func() *v1alpha1.NodeCatalog {
		return Ready(no, v1alpha1.ReasonRunFailed, v1alpha1.RunCounts{InSync: 3})
	}
	onlyNow := nodestate.Counts{InSync: 1, Failed: 1, Skipped: 1}
	return []Case{
		{"in sync", InSync(), nodestate.InSync, nodestate.Counts{InSync: 3}},
		{"only reported", noop(), nodestate.OutOfSync, nodestate.Counts{InSync: 2, Noop: 1}},
		{"failed", Failed(), nodestate.Failed, onlyNow},
		{"failed for a reason of a newer agent", Ready(no, "Other", v1alpha1.RunCounts{InSync: 3}), nodestate.Failed, nodestate.Counts{InSync: 3}},
		{"skipped", skipped(), nodestate.Withheld, nodestate.Counts{InSync: 2, Skipped: 1}},
		{"withheld", With(InSync(), Withheld), nodestate.Withheld, nodestate.Counts{InSync: 3, Withheld: 2}},
		{"withheld, as the agent reports", With(Ready(no, v1alpha1.ReasonWithheld, v1alpha1.RunCounts{InSync: 3}), Withheld), nodestate.Withheld, nodestate.Counts{InSync: 3, Withheld: 2}},
		{"withheld and failed", With(Failed(), Withheld), nodestate.Failed, nodestate.Counts{InSync: 1, Failed: 1, Skipped: 1, Withheld: 2}},
		{"withheld and only reported", With(noop(), Withheld), nodestate.Withheld, nodestate.Counts{InSync: 2, Noop: 1, Withheld: 2}},
		{"cannot run", runFailed(), nodestate.Failed, nodestate.Counts{InSync: 3}},
		{"could not run the catalog before", With(runFailed(), Behind), nodestate.Pending, nodestate.Counts{InSync: 3}},
		{"cannot get its catalog", With(Ready(no, v1alpha1.ReasonCatalogUnavailable, v1alpha1.RunCounts{InSync: 3}), func(nc *v1alpha1.NodeCatalog) { nc.Status.AppliedGeneration = 2 }), nodestate.Failed, nodestate.Counts{InSync: 3}},
		{"new", &v1alpha1.NodeCatalog{}, nodestate.Pending, nodestate.Counts{}},
		{"behind", With(InSync(), Behind), nodestate.Pending, nodestate.Counts{InSync: 3}},
		{"behind, failed and withheld", With(Failed(), Behind, Withheld), nodestate.Pending, nodestate.Counts{InSync: 1, Failed: 1, Skipped: 1, Withheld: 2}},
		{"held", With(InSync(), Held), nodestate.Held, nodestate.Counts{InSync: 3}},
		{"held and behind", With(InSync(), Held, Behind), nodestate.Held, nodestate.Counts{InSync: 3}},
		{"held, failed and withheld", With(Failed(), Held, Withheld), nodestate.Held, nodestate.Counts{InSync: 1, Failed: 1, Skipped: 1, Withheld: 2}},
		{"held, as the agent reports", With(Ready(no, "UpdateHeld", v1alpha1.RunCounts{InSync: 3}), Held), nodestate.Held, nodestate.Counts{InSync: 3}},
		{"disabled", With(InSync(), Disabled), nodestate.Disabled, nodestate.Counts{Disabled: 3}},
		{"disabled, held and behind", With(noop(), Disabled, Held, Behind), nodestate.Disabled, nodestate.Counts{Disabled: 2, Noop: 1}},
		{"disabled and failed before", With(Failed(), Disabled), nodestate.Disabled, nodestate.Counts{Disabled: 1, Failed: 1, Skipped: 1}},
		{"silent", With(InSync(), Silent), nodestate.Silent, nodestate.Counts{Unknown: 3}},
		{"silent, and failed before", With(Failed(), Silent), nodestate.Silent, nodestate.Counts{Unknown: 3}},
		{"silent, disabled, held, behind and withheld", With(InSync(), Silent, Disabled, Held, Behind, Withheld), nodestate.Silent, nodestate.Counts{Unknown: 3, Withheld: 2}},
	}
}

package cleanup_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/cleanup"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

type sight struct {
	All               bool                 // the node has yet to apply everything
	Some              v1alpha1.ResourceRef // or this
	Had, Held, Silent bool
}

func TestDeletionWaitsForNodesThatMayNotHaveCleanedUp(t *testing.T) {
	t.Parallel()

	reported := v1alpha1.NodeCatalogStatus{AgentVersion: "1"}
	with := func(change func(*v1alpha1.NodeCatalogStatus)) v1alpha1.NodeCatalogStatus {
		s := reported
		change(&s)
		return s
	}
	reports := func(ref v1alpha1.ReportedRef, state v1alpha1.ResourceState, message string) v1alpha1.NodeCatalogStatus {
		return with(func(s *v1alpha1.NodeCatalogStatus) {
			s.Resources = []v1alpha1.ResourceReport{{Ref: ref, State: state, Message: message}}
		})
	}
	const held = "update held since 2026-01-02T03:04:05Z: the node would lose File/a, File/c and 9 more, and too many nodes would be deselected at once (DeselectionHeld)"
	for name, tt := range map[string]struct {
		node    v1alpha1.NodeCatalogStatus
		sight   sight
		state   v1alpha1.ResourceState
		message string
	}{
		"nothing is left to apply":                 {reported, sight{Had: true}, "", ""},
		"the agent never reported":                 {v1alpha1.NodeCatalogStatus{}, sight{All: true, Some: "File/a", Had: true, Held: true}, "", ""},
		"the agent reported a digest only":         {v1alpha1.NodeCatalogStatus{AppliedDigest: "sha256-1"}, sight{Had: true, Some: "File/a"}, "Pending", "the node has yet to apply the deletion"},
		"the deletion is not applied":              {reported, sight{Had: true, Some: "File/a"}, "Pending", "the node has yet to apply the deletion"},
		"something else is not applied":            {reported, sight{Some: "File/b", Had: true}, "", ""},
		"the progress is unknown":                  {reported, sight{All: true, Had: true}, "Pending", "the node has yet to apply the deletion"},
		"it never had it, the progress is unknown": {reported, sight{All: true}, "", ""},
		"the node is stalled": {with(func(s *v1alpha1.NodeCatalogStatus) {
			s.Conditions = []metav1.Condition{{Type: "Stalled", Status: "True", Message: "runs are disabled"}}
		}), sight{Had: true, Some: "File/a"}, "Pending", "runs are disabled"},
		"the removal failed":                        {reports("File/a", "Failed", "disk full"), sight{Had: true}, "Failed", "disk full"},
		"it failed and the deletion is not applied": {reports("File/a", "Failed", "disk full"), sight{Had: true, Some: "File/a"}, "Failed", "disk full"},
		"it failed without a message":               {reports("File/a", "Failed", ""), sight{Had: true}, "Failed", "no details reported"},
		"the removal is noop":                       {reports("File/a", "Noop", "would be removed"), sight{Had: true}, "Noop", "would be removed"},
		"the removal succeeded":                     {reports("File/a", "Changed", "removed"), sight{Had: true}, "", ""},
		"another resource failed":                   {reports("File/ab", "Failed", "disk full"), sight{Had: true}, "", ""},
		"the status is truncated":                   {with(func(s *v1alpha1.NodeCatalogStatus) { s.Omitted = 1 }), sight{Had: true}, "Pending", "the node's status was truncated; state unknown"},
		"it never had it, the status is truncated":  {with(func(s *v1alpha1.NodeCatalogStatus) { s.Omitted = 1 }), sight{}, "", ""},
		"the update is held":                        {reported, sight{Had: true, Held: true}, "Pending", held},
		"the agent is silent":                       {reported, sight{Had: true, Some: "File/a", Silent: true}, "Unknown", "no heartbeat from the node's agent for longer than its Lease lasts; last known: the node has yet to apply the deletion"},
		"it failed and is silent":                   {reports("File/a", "Failed", "disk full"), sight{Had: true, Silent: true}, "Unknown", "no heartbeat from the node's agent for longer than its Lease lasts; last known: disk full"},
		"it never had it and reports a failure":     {reports("File/a", "Failed", "disk full"), sight{Silent: true}, "", ""},
		"it never had it and applies nothing":       {reported, sight{All: true, Some: "File/a"}, "", ""},
		"it is silent and nothing is left to apply": {reported, sight{Had: true, Silent: true}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why := map[bool]*v1alpha1.Held{true: {
				Since: metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Resources: []v1alpha1.ResourceRef{"File/a", "File/c", "File/d"}, Omitted: 8,
			}}[tt.sight.Held]
			got := cleanup.State("File/a", cleanup.Observation{
				Status: tt.node, Had: tt.sight.Had, Held: why, Silent: tt.sight.Silent,
				Progress: nodestatus.Progress{All: tt.sight.All, Some: [][]v1alpha1.ResourceRef{{tt.sight.Some}}},
			})
			if got.ResourceState != tt.state || got.Message != tt.message {
				t.Errorf("got %s %q, want %s %q", got.ResourceState, got.Message, tt.state, tt.message)
			}
		})
	}
}

func TestDeselectedNamesNodesThatHaveYetToCleanUp(t *testing.T) {
	t.Parallel()

	var none *cleanup.Waiting
	w := &cleanup.Waiting{}
	if got := none.Deselected() + w.Deselected(); got != "" {
		t.Errorf("no node: %s", got)
	}
	w.Add("n2", nodestatus.State{ResourceState: v1alpha1.StatePending, Message: "the node has yet to apply the deletion"})
	if got, want := w.Deselected(), "1 node was deselected and has yet to clean up: n2 (Pending: the node has yet to apply the deletion)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, node := range []string{"n1", "n3", "n4"} {
		w.Add(node, nodestatus.State{ResourceState: v1alpha1.StateFailed, Message: "disk full"})
	}
	if got, want := w.Deselected(), "4 nodes were deselected and have yet to clean up: n1 (Failed: disk full), n3 (Failed: disk full), n4 (Failed: disk full) and 1 more"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

package controllers_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
)

func TestADeletionWaitsForNodesThatMayHaveSomethingLeft(t *testing.T) {
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
	const held = "the node keeps what it has until the deselection of others is confirmed: see the resources that are DeselectionHeld"
	for name, tt := range map[string]struct {
		node    v1alpha1.NodeCatalogStatus
		sight   controllers.Sight
		state   v1alpha1.ResourceState
		message string
	}{
		"one that is done":                                    {reported, controllers.Sight{Had: true}, "", ""},
		"one whose agent never was there":                     {v1alpha1.NodeCatalogStatus{}, controllers.Sight{All: true, Some: "File/a", Had: true, Held: true}, "", ""},
		"one that said only what it applied":                  {v1alpha1.NodeCatalogStatus{AppliedDigest: "sha256-1"}, controllers.Sight{Had: true, Some: "File/a"}, "Pending", "the node has yet to apply its deletion"},
		"one that has yet to lose it":                         {reported, controllers.Sight{Had: true, Some: "File/a"}, "Pending", "the node has yet to apply its deletion"},
		"one that has yet to apply something else":            {reported, controllers.Sight{Some: "File/b", Had: true}, "", ""},
		"one of which nothing is known":                       {reported, controllers.Sight{All: true, Had: true}, "Pending", "the node has yet to apply its deletion"},
		"one that never had it and of which nothing is known": {reported, controllers.Sight{All: true}, "", ""},
		"one that is stuck": {with(func(s *v1alpha1.NodeCatalogStatus) {
			s.Conditions = []metav1.Condition{{Type: "Stalled", Status: "True", Message: "runs are disabled"}}
		}), controllers.Sight{Had: true, Some: "File/a"}, "Pending", "runs are disabled"},
		"one that failed":                            {reports("File/a", "Failed", "disk full"), controllers.Sight{Had: true}, "Failed", "disk full"},
		"one that failed and has yet to lose it":     {reports("File/a", "Failed", "disk full"), controllers.Sight{Had: true, Some: "File/a"}, "Failed", "disk full"},
		"one that failed without a word":             {reports("File/a", "Failed", ""), controllers.Sight{Had: true}, "Failed", "it said no more"},
		"one that only reports":                      {reports("File/a", "Noop", "would be removed"), controllers.Sight{Had: true}, "Noop", "would be removed"},
		"one that says it did it":                    {reports("File/a", "Changed", "removed"), controllers.Sight{Had: true}, "", ""},
		"one that failed with another":               {reports("File/ab", "Failed", "disk full"), controllers.Sight{Had: true}, "", ""},
		"one with more trouble than it can say":      {with(func(s *v1alpha1.NodeCatalogStatus) { s.Omitted = 1 }), controllers.Sight{Had: true}, "Pending", "the node reports more trouble than its status has room for"},
		"one that never had it with as much trouble": {with(func(s *v1alpha1.NodeCatalogStatus) { s.Omitted = 1 }), controllers.Sight{}, "", ""},
		"one that is held":                           {reported, controllers.Sight{Had: true, Held: true}, "Pending", held},
		"one that is silent":                         {reported, controllers.Sight{Had: true, Some: "File/a", Silent: true}, "Unknown", "nothing was heard of the node's agent for longer than its Lease lasts; before, the node has yet to apply its deletion"},
		"one that failed and is silent":              {reports("File/a", "Failed", "disk full"), controllers.Sight{Had: true, Silent: true}, "Unknown", "nothing was heard of the node's agent for longer than its Lease lasts; before, disk full"},
		"one that never had it and says it failed":   {reports("File/a", "Failed", "disk full"), controllers.Sight{Silent: true}, "", ""},
		"one that never had it and applies nothing":  {reported, controllers.Sight{All: true, Some: "File/a"}, "", ""},
		"one that is silent and done":                {reported, controllers.Sight{Had: true, Silent: true}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if state, message := controllers.Remnant("File/a", tt.node, tt.sight); state != tt.state || message != tt.message {
				t.Errorf("is %s %q, want %s %q", state, message, tt.state, tt.message)
			}
		})
	}
}

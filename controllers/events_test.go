package controllers_test

import (
	"math/rand/v2"
	"testing"
	"unicode"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/test/fixtures/hostile"
)

// A node that lies may report anything.
func TestNothingHostileOfANodeReachesEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		now := v1alpha1.NodeCatalogStatus{Resources: []v1alpha1.ResourceReport{
			{Ref: v1alpha1.ReportedRef("File/" + hostile.Name(r)), State: v1alpha1.StateFailed, Message: hostile.String(r) + "x"},
			{Ref: v1alpha1.ReportedRef("File/" + hostile.Name(r)), State: v1alpha1.StateChanged, Corrective: true, Changes: []v1alpha1.PropertyChange{{Property: hostile.String(r), Is: hostile.String(r)}}},
		}}
		emitted := controllers.EmittedOfNode(v1alpha1.NodeCatalogStatus{}, now)
		if len(emitted) < 2 {
			t.Fatalf("got %q", emitted)
		}
		for _, event := range emitted {
			for _, c := range event {
				if !unicode.IsGraphic(c) {
					t.Fatalf("%q has %U", event, c)
				}
			}
		}
	}
}

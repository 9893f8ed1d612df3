package conditions_test

import (
	"math/rand/v2"
	"testing"
	"unicode"

	"k8s.io/client-go/tools/events"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/test/fixtures/hostile"
)

func TestEventsOfAHostileNodeArePrintable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		now := v1alpha1.NodeCatalogStatus{Resources: []v1alpha1.ResourceReport{
			{Ref: v1alpha1.ReportedRef("File/" + hostile.Name(r)), State: v1alpha1.StateFailed, Message: hostile.String(r) + "x"},
			{Ref: v1alpha1.ReportedRef("File/" + hostile.Name(r)), State: v1alpha1.StateChanged, Corrective: true, Changes: []v1alpha1.PropertyChange{{Property: hostile.String(r), Is: hostile.String(r)}}},
		}}
		now.Drift = []v1alpha1.DriftRecord{{Ref: now.Resources[1].Ref, Author: &v1alpha1.Author{Executable: hostile.String(r), Unit: hostile.String(r)}}}
		recorder := events.NewFakeRecorder(10)
		conditions.Record(recorder, &v1alpha1.NodeCatalog{}, conditions.NodeEvents(v1alpha1.NodeCatalogStatus{}, now)...)
		close(recorder.Events)
		var emitted []string
		for e := range recorder.Events {
			emitted = append(emitted, e)
		}
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

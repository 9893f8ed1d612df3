package controllers

import (
	"time"

	"k8s.io/client-go/tools/events"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// driftEvents collects the drift that nodes report, at any time, for events on the resources.
type driftEvents struct {
	recorder            events.EventRecorder
	corrected, detected drift.Summary // by what happened to it
}

// add adds an event of a node, if it is about drift.
func (d *driftEvents) add(e conditions.Event, node string) {
	switch ref, ok := e.Drift(); {
	case !ok:
	case e.Reason == v1alpha1.EventDriftDetected:
		d.detected.Add(ref, node)
	default:
		d.corrected.Add(ref, node)
	}
}

// record records the events that are due, and returns when the next one is. selected has the nodes that each resource selects.
func (d *driftEvents) record(live map[v1alpha1.ResourceRef]v1alpha1.Resource, selected map[v1alpha1.ResourceRef][]string, now time.Time) time.Duration {
	var next limits.Wait
	record := func(from *drift.Summary, event func(where, node string) conditions.Event) {
		notes, left := from.Due(now, selected)
		for ref, note := range notes {
			if o := live[ref]; o != nil {
				conditions.Record(d.recorder, o, event(note.Where, note.Node))
			}
		}
		next.Add(left)
	}
	record(&d.corrected, conditions.DriftCorrected)
	record(&d.detected, conditions.DriftDetected)
	return time.Duration(next)
}

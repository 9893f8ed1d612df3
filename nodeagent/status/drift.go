package status

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Bounds of the records of drift.
const (
	maxRecords         = 20
	maxRecordSize      = 6 << 10 // of all, in bytes of JSON
	maxDriftProperties = 8
	maxPropertyName    = 64
	maxAuthorText      = 128
	recordAge          = 30 * 24 * time.Hour
	maxDriftCount      = 1_000_000_000 // as the schema has it
)

// drift returns the records after a run, the latest first. before are the entries of the status before the run.
func drift(records []v1alpha1.DriftRecord, run Run, before []v1alpha1.ResourceReport, now time.Time) []v1alpha1.DriftRecord {
	all := map[v1alpha1.ReportedRef]v1alpha1.DriftRecord{}
	for _, r := range records {
		if now.Sub(r.LastSeen.Time) < recordAge {
			all[r.Ref] = r
		}
	}
	was := byRef(before)
	for _, r := range run.Report.Resources {
		ref := reportedRef(r.Ref)
		switch {
		case r.Deleted:
			delete(all, ref)
		case !r.Corrective():
		case !lasts(was[ref], r):
			all[ref] = next(all[ref], ref, r, now)
		case isCorrected(r):
			record := all[ref]
			record.LastSeen, record.Corrected = metav1.NewTime(now), true
			all[ref] = record
		}
	}
	dropUnmanaged(all, run)
	markContended(all, run.Contended)
	return fitRecords(all)
}

// dropUnmanaged deletes the records of uncorrected drift of what the node no longer manages: there is nothing to correct.
func dropUnmanaged(all map[v1alpha1.ReportedRef]v1alpha1.DriftRecord, run Run) {
	if run.Report.Partial {
		return
	}
	managed := map[v1alpha1.ReportedRef]bool{}
	for _, r := range run.Report.Resources {
		managed[reportedRef(r.Ref)] = true
	}
	for _, w := range withheldFrom(run) {
		managed[v1alpha1.ReportedRef(w.Ref)] = true
	}
	maps.DeleteFunc(all, func(ref v1alpha1.ReportedRef, r v1alpha1.DriftRecord) bool { return !r.Corrected && !managed[ref] })
}

// markContended marks the records of resources that something else changes again and again.
func markContended(all map[v1alpha1.ReportedRef]v1alpha1.DriftRecord, contended map[resource.Ref]bool) {
	refs := map[v1alpha1.ReportedRef]bool{}
	for ref := range contended {
		refs[reportedRef(report.Ref(ref))] = true
	}
	for ref, r := range all {
		r.Contended = refs[ref]
		all[ref] = r
	}
}

// lasts reports whether drift is the one that the status before the run has, because it was only reported or could not be corrected.
func lasts(was v1alpha1.ResourceReport, r report.ResourceReport) bool {
	left := was.OutOfSync || was.State == v1alpha1.StateNoop // older agents recorded only this
	return was.Corrective && left && equality.Semantic.DeepEqual(was.Changes, resourceReport(r).Changes)
}

// isCorrected reports whether the drift of a resource was corrected, all of it and permanently.
func isCorrected(r report.ResourceReport) bool { return r.Corrected() && r.State != report.Failed }

// next is the record of a resource that has drifted. is may be the zero value.
func next(is v1alpha1.DriftRecord, ref v1alpha1.ReportedRef, r report.ResourceReport, now time.Time) v1alpha1.DriftRecord {
	at := metav1.NewTime(now)
	if is.Count == 0 {
		is.Ref, is.FirstSeen = ref, at
	}
	is.Count = min(is.Count+1, maxDriftCount)
	is.LastSeen, is.Corrected, is.Properties, is.Author = at, isCorrected(r), nil, authorOf(r)
	for _, e := range r.Events {
		if name := cut(e.Property, maxPropertyName); e.Corrective && len(is.Properties) < maxDriftProperties && !slices.Contains(is.Properties, name) {
			is.Properties = append(is.Properties, name)
		}
	}
	return is
}

// authorOf returns the author of drift as the API has it.
func authorOf(r report.ResourceReport) *v1alpha1.Author {
	if r.Author == nil {
		return nil
	}
	by := v1alpha1.Author(*r.Author)
	by.Executable, by.Unit, by.Pod = cut(by.Executable, maxAuthorText), cut(by.Unit, maxAuthorText), cut(by.Pod, maxAuthorText)
	return &by
}

// fitRecords sorts records, and keeps as many as fit.
func fitRecords(all map[v1alpha1.ReportedRef]v1alpha1.DriftRecord) []v1alpha1.DriftRecord {
	sorted := make([]v1alpha1.DriftRecord, 0, len(all))
	for _, r := range all {
		sorted = append(sorted, r)
	}
	slices.SortFunc(sorted, func(a, b v1alpha1.DriftRecord) int {
		return cmp.Or(b.LastSeen.Compare(a.LastSeen.Time), strings.Compare(string(a.Ref), string(b.Ref)))
	})
	var list []v1alpha1.DriftRecord
	room := maxRecordSize
	for _, r := range sorted {
		if size := len(jsonOf(r)) + len(","); len(list) < maxRecords && size <= room {
			list, room = append(list, r), room-size
		}
	}
	return list
}

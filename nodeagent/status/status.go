// Package status computes the status of a NodeCatalog from a run's report.
//
// It is pure: [Next] takes the previous status and new input, and returns the next status. A run without changes or
// news keeps the status, so a quiet node writes nothing.
package status

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Input is the input of a status besides the previous status.
type Input struct {
	Now          time.Time
	Generation   int64 // of the last seen NodeCatalog; 0 before one was seen
	AgentVersion string
	PublicKey    string         // for sealing secrets; "" keeps the previous key
	Facts        resource.Facts // nil keeps the previous facts
	Problem      *Problem       // why that generation cannot be applied; nil if it can
	Held         *v1alpha1.Held // why the manager does not update the node; nil if it does
	// OutdatedTypes says which external types are used in an older version, and why; "" for none.
	OutdatedTypes string
	Run           *Run // a run that is not in the status yet, or nil
}

// A Run is a finished run.
type Run struct {
	Report     report.Report
	Generation int64 // applied generation
	Trigger    v1alpha1.RunTrigger
	Withheld   []v1alpha1.Withheld // by that generation
	// Contended are the resources that something else changes again and again.
	Contended map[resource.Ref]bool
}

// A Problem is why a NodeCatalog is not applied.
type Problem struct {
	// Reason is CatalogInvalid, CatalogUnavailable or Disabled if a person has to act, RunFailed, or
	// Applying if a retry is likely to help.
	Reason  string
	Message string
}

// Next returns the next status of a NodeCatalog, and whether it differs from prev. The results of a run stay until a
// later run has changes or news: a quiet run keeps even the time of the last run. The status is at most MaxSize bytes.
func Next(prev v1alpha1.NodeCatalogStatus, in Input) (next v1alpha1.NodeCatalogStatus, changed bool) {
	in.Now = in.Now.UTC().Truncate(time.Second) // the API server's precision
	next = *prev.DeepCopy()
	next.ObservedGeneration = in.Generation
	next.AgentVersion = cut(in.AgentVersion, maxValue)
	next.PublicKey = cmp.Or(in.PublicKey, prev.PublicKey)
	setFacts(&next, in.Facts)
	if in.Run != nil {
		next = withRun(next, *in.Run, in.Now)
	}
	next.Conditions = conditions(next, in)
	return next, !equality.Semantic.DeepEqual(prev, next)
}

// withRun adds a run to the status, unless it is quiet.
func withRun(s v1alpha1.NodeCatalogStatus, run Run, now time.Time) v1alpha1.NodeCatalogStatus {
	counts := runCounts(run, s)
	resources, omitted := reports(run, s.Resources, now)
	if run.Report.Partial {
		omitted += s.Omitted
	}
	records := drift(s.Drift, run, s.Resources, now)
	if quiet(s, run, counts, resources) {
		s.Drift = records // a contest may be over
		return s
	}
	if !run.Report.Partial {
		s.AppliedGeneration = run.Generation
		s.AppliedDigest = run.Report.CatalogDigest
	}
	s.LastRun = &v1alpha1.LastRun{
		Started:  metav1.NewTime(run.Report.Started.UTC().Truncate(time.Second)),
		Duration: run.Report.Duration.String(),
		Ended:    run.Report.Started.Add(time.Duration(run.Report.Duration)).UTC().Format(metav1.RFC3339Micro),
		Trigger:  run.Trigger,

		CachedCatalogStatus: run.Report.CachedCatalogStatus,
	}
	if s.Counts != nil || !run.Report.Partial { // otherwise nothing is known of the others
		s.Counts = &counts
	}
	s.Drift = records
	s.Resources, s.Omitted = resources, omitted
	return s
}

// quiet reports whether a run changed nothing and found nothing new.
func quiet(s v1alpha1.NodeCatalogStatus, run Run, counts v1alpha1.RunCounts, resources []v1alpha1.ResourceReport) bool {
	if counts.Changed+counts.Refreshed > 0 {
		return false
	}
	if s.Counts == nil { // nothing is known of the others
		return run.Report.Partial && equality.Semantic.DeepEqual(withoutChanged(s.Resources), withoutChanged(resources))
	}
	if !run.Report.Partial && (s.AppliedGeneration != run.Generation || s.AppliedDigest != run.Report.CatalogDigest) {
		return false
	}
	before := *s.Counts
	before.Changed, before.Refreshed = 0, 0
	return before == counts && equality.Semantic.DeepEqual(withoutChanged(s.Resources), withoutChanged(resources))
}

// withoutChanged omits the entries for corrected drift, which are events. The others are states.
func withoutChanged(resources []v1alpha1.ResourceReport) []v1alpha1.ResourceReport {
	var out []v1alpha1.ResourceReport
	for _, r := range resources {
		if r.State != v1alpha1.StateChanged {
			out = append(out, r)
		}
	}
	return out
}

// runCounts counts the resources by state after a run. A resource removed after it left the catalog counts only as
// changed. A resource outside its schedule counts as in the previous status, or as in sync if not listed there. A partial run
// changes the counts of the previous status by those of its resources.
func runCounts(of Run, prev v1alpha1.NodeCatalogStatus) v1alpha1.RunCounts {
	run := of.Report
	before := byRef(prev.Resources)
	counts := countsOf(run.Counts)
	if !run.Partial {
		counts.Withheld = int32(len(withheldFrom(of)))
		counts.Total += counts.Withheld
	} else if prev.Counts != nil {
		counts = corrected(*prev.Counts, counts, run.Resources, before)
	}
	for _, r := range run.Resources {
		if r.Deleted { // no longer a resource of the node
			counts.Total--
			counts.InSync--
		}
		if r.Differs {
			counts.OutOfSync++
		}
		if r.Left {
			counts.Skipped--
			countPrevious(&counts, before[reportedRef(r.Ref)], 1)
		}
	}
	return counts
}

func countsOf(is report.Counts) v1alpha1.RunCounts {
	return v1alpha1.RunCounts{
		Total:     int32(is.Total),
		InSync:    int32(is.InSync + is.Changed + is.Refreshed),
		Changed:   int32(is.Changed),
		Failed:    int32(is.Failed),
		Skipped:   int32(is.Skipped),
		Noop:      int32(is.Noop),
		Refreshed: int32(is.Refreshed),
	}
}

// corrected returns the previous counts with those of the resources of a partial run in the place of their own.
func corrected(prev, run v1alpha1.RunCounts, resources []report.ResourceReport, before map[v1alpha1.ReportedRef]v1alpha1.ResourceReport) v1alpha1.RunCounts {
	prev.Changed, prev.Refreshed = run.Changed, run.Refreshed
	prev.InSync += run.InSync
	prev.Failed += run.Failed
	prev.Skipped += run.Skipped
	prev.Noop += run.Noop
	for _, r := range resources {
		countPrevious(&prev, before[reportedRef(r.Ref)], -1)
	}
	return prev
}

// countPrevious adds n resources with a previous entry.
func countPrevious(c *v1alpha1.RunCounts, was v1alpha1.ResourceReport, n int32) {
	switch was.State {
	case v1alpha1.StateFailed:
		c.Failed += n
	case v1alpha1.StateNoop:
		c.Noop += n
	case v1alpha1.StateSkipped:
		c.Skipped += n
	default:
		c.InSync += n
	}
	if was.OutOfSync {
		c.OutOfSync += n
	}
}

package nodeagent

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
)

// StatusInput is what a status is made of beside the status before it.
type StatusInput struct {
	Now          time.Time
	Generation   int64 // of the NodeCatalog that was last seen; 0 before any was
	AgentVersion string
	PublicKey    string         // that secrets are to be sealed to; "" keeps the one that was told
	Facts        resource.Facts // nil keeps those that were told
	Problem      *Problem       // what keeps that generation from being applied, if anything does
	Run          *Run           // a run that is not in the status yet; nil if there was none
}

// A Run is a run that took place.
type Run struct {
	Report     engine.Report
	Generation int64 // that was applied
	Trigger    v1alpha1.RunTrigger
	Withheld   []v1alpha1.Withheld // by that generation
}

// A Problem is why a NodeCatalog is not applied as it is.
type Problem struct {
	// Reason is CatalogInvalid, CatalogUnavailable or Disabled, for which a person must
	// act, RunFailed, or Applying where trying again is likely to help.
	Reason  string
	Message string
}

// Status is what a NodeCatalog's status is next, and whether that says anything that
// prev doesn't. What happened in a run is told until another run changes something or
// finds something else: one that finds all as it was left keeps even the time of the
// last one. Never larger than MaxStatus.
func Status(prev v1alpha1.NodeCatalogStatus, in StatusInput) (next v1alpha1.NodeCatalogStatus, changed bool) {
	in.Now = in.Now.UTC().Truncate(time.Second) // as the API server keeps it
	next = *prev.DeepCopy()
	next.ObservedGeneration = in.Generation
	next.AgentVersion = cut(in.AgentVersion, maxValue)
	next.PublicKey = cmp.Or(in.PublicKey, prev.PublicKey)
	publishedFacts(&next, in.Facts)
	if in.Run != nil {
		next = withRun(next, *in.Run, in.Now)
	}
	next.Conditions = conditions(next, in.Problem, in.Now)
	return next, !equality.Semantic.DeepEqual(prev, next)
}

// withRun puts a run into the status, unless it was a quiet one.
func withRun(s v1alpha1.NodeCatalogStatus, run Run, now time.Time) v1alpha1.NodeCatalogStatus {
	counts := runCounts(run.Report, s.Resources)
	resources, omitted := resourceReports(run, s.Resources, now)
	if quiet(s, run, counts, resources) {
		return s
	}
	s.AppliedGeneration = run.Generation
	s.AppliedDigest = run.Report.CatalogDigest
	s.LastRun = &v1alpha1.LastRun{
		Started:  metav1.NewTime(run.Report.Started.UTC().Truncate(time.Second)),
		Duration: run.Report.Duration.String(),
		Trigger:  run.Trigger,

		CachedCatalogStatus: run.Report.CachedCatalogStatus,
	}
	s.Counts = &counts
	s.Resources, s.Omitted = resources, omitted
	return s
}

// quiet reports whether a run changed nothing and found nothing but what is told.
func quiet(s v1alpha1.NodeCatalogStatus, run Run, counts v1alpha1.RunCounts, resources []v1alpha1.ResourceReport) bool {
	if s.Counts == nil || counts.Changed+counts.Refreshed > 0 {
		return false
	}
	if s.AppliedGeneration != run.Generation || s.AppliedDigest != run.Report.CatalogDigest {
		return false
	}
	told := *s.Counts
	told.Changed, told.Refreshed = 0, 0
	return told == counts && equality.Semantic.DeepEqual(standing(s.Resources), standing(resources))
}

// standing are the entries that say how the host is, without those that say what was
// done about it.
func standing(resources []v1alpha1.ResourceReport) []v1alpha1.ResourceReport {
	var out []v1alpha1.ResourceReport
	for _, r := range resources {
		if r.State != v1alpha1.StateChanged {
			out = append(out, r)
		}
	}
	return out
}

// runCounts are how the resources are after a run; what was removed because its resource is
// gone is counted as changed alone. One that its schedule kept from being looked at is as it
// was told of before: in sync, if it was not.
func runCounts(report engine.Report, prev []v1alpha1.ResourceReport) v1alpha1.RunCounts {
	is := report.Counts
	counts := v1alpha1.RunCounts{
		Total:     int32(is.Total),
		InSync:    int32(is.InSync + is.Changed + is.Refreshed),
		Changed:   int32(is.Changed),
		Failed:    int32(is.Failed),
		Skipped:   int32(is.Skipped),
		Noop:      int32(is.Noop),
		Refreshed: int32(is.Refreshed),
	}
	before := byRef(prev)
	for _, r := range report.Resources {
		if r.Gone { // and is no resource of the node any more
			counts.Total--
			counts.InSync--
		}
		if r.Left {
			counts.Skipped--
			countAgain(&counts, before[reportedRef(r.Ref)])
		}
		if r.OutOfSync && (r.State == engine.Noop || r.State == engine.Failed) {
			counts.OutOfSync++
		}
	}
	return counts
}

// countAgain counts a resource that is as it was.
func countAgain(c *v1alpha1.RunCounts, was v1alpha1.ResourceReport) {
	switch was.State {
	case v1alpha1.StateFailed:
		c.Failed++
	case v1alpha1.StateNoop:
		c.Noop++
	case v1alpha1.StateSkipped:
		c.Skipped++
	default:
		c.InSync++
	}
	if len(was.Changes) > 0 && (was.State == v1alpha1.StateFailed || was.State == v1alpha1.StateNoop) {
		c.OutOfSync++
	}
}

// Package promise tests that a plan is a promise: where an apply fails, the plan fails, with the same cause; where the plan says
// changed, the apply makes exactly these changes; and the next run makes none. A plan may say instead that only an apply can tell.
//
// It runs the engine on disposable hosts: once as a plan, once as an apply, and again as a plan.
package promise

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Class is how a plan and an apply differ.
type Class string

// The classes.
const (
	Fails    Class = "the apply fails, the plan does not"
	Succeeds Class = "the plan fails, the apply does not"
	Cause    Class = "the apply fails for another reason than the plan"
	Differs  Class = "the apply makes other changes than the plan"
	Remains  Class = "the next run changes something again"
)

// A Breach is a resource whose plan was wrong.
type Breach struct {
	Ref           report.Ref
	Class         Class
	Plan, Applied string // what the two said
}

// String describes a breach in one line.
func (b Breach) String() string {
	return fmt.Sprintf("%s: %s: planned %q, applied %q", b.Ref, b.Class, b.Plan, b.Applied)
}

// An Outcome has the reports of the three runs.
type Outcome struct {
	Plan, Apply, Next report.Report
	imperative        map[string]bool // kinds whose resources act in each run
}

// A Host is where a promise is tested, and changed. Bind makes the resources, which one run uses up.
type Host struct {
	host.Host
	Kinds []resource.Kind
	Facts resource.Facts
	Bind  func() ([]resource.Item, error)
	// BucketLimit is the size of the bucket in bytes; 0 is the default.
	BucketLimit int64
}

// Try plans, applies, and plans again.
func (h Host) Try(ctx context.Context) (o Outcome, err error) {
	o.imperative = map[string]bool{}
	for _, k := range h.Kinds {
		o.imperative[k.Name()] = k.Traits().Imperative
	}
	for _, run := range []struct {
		into  *report.Report
		plans bool
	}{{&o.Plan, true}, {&o.Apply, false}, {&o.Next, true}} {
		if *run.into, err = h.run(ctx, run.plans); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (h Host) run(ctx context.Context, plans bool) (report.Report, error) {
	items, err := h.Bind()
	if err != nil {
		return report.Report{}, err
	}
	limit := h.BucketLimit
	if limit == 0 {
		limit = bucket.DefaultLimit
	}
	t := engine.Transaction{Bucket: bucket.New(h.Host, bucket.DefaultDir, limit), Kinds: h.Kinds, Facts: h.Facts, Now: time.Now}
	if plans {
		t.Reader = h.Host
	} else {
		t.Host = h.Host
	}
	return t.Run(ctx, items)
}

// Breaches returns the resources whose plan was wrong, in the order of the plan. Resources whose plan says that only an apply can tell,
// and those that the apply skips because another one failed, or that one with an unknown outcome undid later, break no promise: that of
// the other one is broken, or unknown.
func (o Outcome) Breaches() []Breach {
	var breaches []Breach
	applied, next := byRef(o.Apply), byRef(o.Next)
	for _, p := range merged(o.Plan, o.Apply) {
		a := applied[p.Ref]
		class, broken := compare(p, a, next[p.Ref])
		if o.undone(a) {
			continue
		}
		if broken && !(class == Remains && o.imperative[p.Ref.Kind]) {
			breaches = append(breaches, Breach{p.Ref, class, told(p), told(a)})
		}
	}
	return breaches
}

// undone reports whether the apply failed only because a resource whose outcome the plan called unknown undid it in the same run.
func (o Outcome) undone(applied report.ResourceReport) bool {
	_, by, was := strings.Cut(applied.Message, "was undone in the same run, by ")
	return was && slices.ContainsFunc(o.Plan.Resources, func(p report.ResourceReport) bool {
		return p.Unknown != "" && strings.Contains(by, p.Ref.String())
	})
}

// Unknown counts the unknown outcomes of the plan by their reasons.
func (o Outcome) Unknown() map[string]int {
	reasons := map[string]int{}
	for _, r := range o.Plan.Resources {
		if r.Unknown != "" {
			reason, _, after := strings.Cut(r.Unknown, "comes after ")
			if after {
				reason = "comes after another that is unknown"
			}
			reasons[reason]++
		}
	}
	return reasons
}

func byRef(r report.Report) map[report.Ref]report.ResourceReport {
	all := map[report.Ref]report.ResourceReport{}
	for _, res := range r.Resources {
		all[res.Ref] = res
	}
	return all
}

// merged returns the resources of a plan, and those that only the apply generated, which the plan says nothing of.
func merged(plan, apply report.Report) []report.ResourceReport {
	all, known := slices.Clone(plan.Resources), byRef(plan)
	for _, a := range apply.Resources {
		if _, planned := known[a.Ref]; !planned {
			all = append(all, report.ResourceReport{Ref: a.Ref, State: report.InSync})
		}
	}
	return all
}

func compare(plan, applied, next report.ResourceReport) (Class, bool) {
	switch {
	case applied.State == report.Skipped:
		return "", false
	case announcesNothing(plan, applied):
		return Differs, true
	case plan.Unknown != "":
		return "", false
	}
	return compareCertain(plan, applied, next)
}

// compareCertain is compare for a plan that says that nothing is unknown.
func compareCertain(plan, applied, next report.ResourceReport) (Class, bool) {
	failed, fails := applied.State == report.Failed, plan.State == report.Failed
	switch {
	case failed && !fails:
		return Fails, true
	case fails && !failed:
		return Succeeds, true
	case fails:
		return Cause, !sameCause(plan.Message, told(applied))
	case !slices.Equal(changes(plan, report.Pending), changes(applied, report.Success)), refreshed(applied) && !refreshed(plan):
		return Differs, true
	}
	return Remains, next.Unknown == "" && len(changes(next, report.Pending)) > 0
}

// announcesNothing reports whether a plan announces a refresh of which only the outcome is unknown, and the apply makes none.
func announcesNothing(plan, applied report.ResourceReport) bool {
	would := slices.ContainsFunc(plan.Events, func(e report.Event) bool { return strings.HasPrefix(e.Message, "would have been refreshed") })
	return would && plan.Unknown == "runs its refresh" && applied.State != report.Failed && !refreshed(applied)
}

// refreshed reports whether a resource was refreshed, or would or may be.
func refreshed(r report.ResourceReport) bool {
	return slices.ContainsFunc(r.Events, func(e report.Event) bool {
		return e.Property == "" && (e.Status == report.Success || e.Status == report.Pending)
	})
}

// changes returns the changes of properties.
func changes(r report.ResourceReport, status report.EventStatus) (all []string) {
	for _, e := range r.Events {
		if e.Status == status && e.Property != "" {
			all = append(all, fmt.Sprintf("%s: %s to %s", e.Property, e.Is, e.Should))
		}
	}
	return all
}

// sameCause reports whether the message of a failed apply contains one of the reasons that the plan gives.
func sameCause(plan, applied string) bool {
	for line := range strings.SplitSeq(strings.TrimPrefix(plan, "cannot be applied: "), "; ") {
		if strings.Contains(applied, line) {
			return true
		}
		if _, cause, ok := strings.Cut(line, ": "); ok && strings.Contains(applied, cause) {
			return true
		}
	}
	return plan == applied
}

// told is what a report says of a resource.
func told(r report.ResourceReport) string {
	text := string(r.State)
	for _, e := range r.Events {
		text += "; " + e.Message
	}
	if r.Message != "" && !strings.Contains(text, r.Message) {
		text += "; " + r.Message
	}
	return text
}

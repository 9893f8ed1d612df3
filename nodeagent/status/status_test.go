package status_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent/status"
)

// Times of runs.
func noon() time.Time     { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }
func oneHour() time.Time  { return noon().Add(time.Hour) }
func twoHours() time.Time { return noon().Add(2 * time.Hour) }

func stamp(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }

// Reports of resources.
func inSync(name string) report.ResourceReport {
	return report.ResourceReport{Ref: report.Ref{Kind: "File", Name: name}, State: report.InSync}
}

func changed(name string, corrective bool) report.ResourceReport {
	return report.ResourceReport{
		Ref: report.Ref{Kind: "File", Name: name}, State: report.Changed, OutOfSync: true,
		Events: []report.Event{{Property: "mode", Is: "0600", Should: "0644", Status: report.Success, Corrective: corrective, Message: "mode changed 0600 to 0644"}},
	}
}

func noop(name string) report.ResourceReport {
	r := changed(name, false)
	r.State, r.Differs, r.Events[0].Status = report.Noop, true, report.Pending
	return r
}

func failed(name, message string) report.ResourceReport {
	return report.ResourceReport{Ref: report.Ref{Kind: "File", Name: name}, State: report.Failed, Message: message}
}

// failing is drift that could not be corrected, and heldBack is drift of a resource that is skipped.
func failing(name string) report.ResourceReport {
	r := changed(name, true)
	r.State, r.Differs, r.Events[0].Status = report.Failed, true, report.Failure
	return r
}

func heldBack(name string) report.ResourceReport {
	r := failing(name)
	r.State = report.Skipped
	return r
}

func skipped(name string) report.ResourceReport {
	return report.ResourceReport{
		Ref: report.Ref{Kind: "File", Name: name}, State: report.Skipped, Message: "skipped because of failed dependencies: File/a",
	}
}

// left is a resource outside its schedule.
func left(name string) report.ResourceReport {
	return report.ResourceReport{
		Ref: report.Ref{Kind: "File", Name: name}, State: report.Skipped, Message: "not scheduled: the period of its schedule is never", Left: true,
	}
}

// ran returns a run of generation 3 at a time, with these results.
func ran(at time.Time, resources ...report.ResourceReport) *status.Run {
	r := report.Report{Started: at, Duration: report.Duration(21 * time.Millisecond), CatalogDigest: "sha256-aa", Resources: resources}
	for _, res := range resources {
		r.Counts.Total++
		*map[report.State]*int{
			report.InSync: &r.Counts.InSync, report.Changed: &r.Counts.Changed, report.Refreshed: &r.Counts.Refreshed,
			report.Noop: &r.Counts.Noop, report.Skipped: &r.Counts.Skipped, report.Failed: &r.Counts.Failed,
		}[res.State]++
	}
	return &status.Run{Report: r, Generation: 3, Trigger: v1alpha1.TriggerInterval}
}

// after returns the status after runs of generation 3, one hour apart, starting at noon.
func after(runs ...[]report.ResourceReport) v1alpha1.NodeCatalogStatus {
	var s v1alpha1.NodeCatalogStatus
	for i, resources := range runs {
		at := noon().Add(time.Duration(i) * time.Hour)
		s, _ = status.Next(s, status.Input{Now: at, Generation: 3, AgentVersion: "v1", Run: ran(at, resources...)})
	}
	return s
}

type results = []report.ResourceReport

// told is the part of a status that a run determines.
type told struct {
	LastRun   time.Time
	Counts    v1alpha1.RunCounts
	Resources []v1alpha1.ResourceReport
}

func toldBy(s v1alpha1.NodeCatalogStatus) told {
	return told{s.LastRun.Started.Time, *s.Counts, s.Resources}
}

func TestStatusOfRun(t *testing.T) {
	mode := []v1alpha1.PropertyChange{{Property: "mode", Is: "0600", Should: "0644"}}
	corrected := func(at time.Time) v1alpha1.ResourceReport {
		return v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateChanged, Changes: mode, Corrective: true, Since: stamp(at)}
	}
	failure := func(message string, at time.Time) v1alpha1.ResourceReport {
		return v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateFailed, Message: message, Since: stamp(at)}
	}
	for name, c := range map[string]struct {
		runs []results
		want told
	}{
		"counts changed resources as in sync": {
			[]results{{changed("a", false), inSync("b")}},
			told{noon(), v1alpha1.RunCounts{Total: 2, InSync: 2, Changed: 1}, nil},
		},
		"reports corrected drift": {
			[]results{{changed("a", true), inSync("b")}},
			told{noon(), v1alpha1.RunCounts{Total: 2, InSync: 2, Changed: 1}, []v1alpha1.ResourceReport{corrected(noon())}},
		},
		"keeps the status after a quiet run": {
			[]results{{changed("a", true), inSync("b")}, {inSync("a"), inSync("b")}, {inSync("a"), inSync("b")}},
			told{noon(), v1alpha1.RunCounts{Total: 2, InSync: 2, Changed: 1}, []v1alpha1.ResourceReport{corrected(noon())}},
		},
		"reports repeated drift again": {
			[]results{{changed("a", true)}, {inSync("a")}, {changed("a", true)}},
			told{twoHours(), v1alpha1.RunCounts{Total: 1, InSync: 1, Changed: 1}, []v1alpha1.ResourceReport{corrected(twoHours())}},
		},
		"reports a repeated failure once, with its start": {
			[]results{{failed("a", "no")}, {failed("a", "no")}},
			told{noon(), v1alpha1.RunCounts{Total: 1, Failed: 1}, []v1alpha1.ResourceReport{failure("no", noon())}},
		},
		"updates the reason of a failure and keeps its start": {
			[]results{{failed("a", "no")}, {failed("a", "never")}},
			told{oneHour(), v1alpha1.RunCounts{Total: 1, Failed: 1}, []v1alpha1.ResourceReport{failure("never", noon())}},
		},
		"reports a failure that ends without a change": {
			[]results{{failed("a", "no"), changed("b", true)}, {inSync("a"), inSync("b")}},
			told{oneHour(), v1alpha1.RunCounts{Total: 2, InSync: 2}, nil},
		},
		"keeps a repeated failure next to corrected drift quiet": {
			[]results{{failed("a", "no"), changed("b", true)}, {failed("a", "no"), inSync("b")}},
			told{noon(), v1alpha1.RunCounts{Total: 2, InSync: 1, Changed: 1, Failed: 1}, []v1alpha1.ResourceReport{
				failure("no", noon()),
				{Ref: "File/b", State: v1alpha1.StateChanged, Changes: mode, Corrective: true, Since: stamp(noon())},
			}},
		},
		"keeps the state of a resource outside its schedule": {
			[]results{{failed("a", "no"), changed("b", false), noop("c")}, {left("a"), left("b"), left("c")}},
			told{noon(), v1alpha1.RunCounts{Total: 3, InSync: 1, Changed: 1, OutOfSync: 1, Failed: 1, Noop: 1}, []v1alpha1.ResourceReport{
				failure("no", noon()),
				{Ref: "File/c", State: v1alpha1.StateNoop, Changes: mode, OutOfSync: true, Since: stamp(noon())},
			}},
		},
		"counts whatever is known to differ as out of sync": {
			[]results{{failing("a"), failed("b", "no"), heldBack("c"), skipped("d"), noop("e"), changed("f", true)}},
			told{noon(), v1alpha1.RunCounts{Total: 6, InSync: 1, Changed: 1, OutOfSync: 3, Failed: 2, Skipped: 2, Noop: 1}, []v1alpha1.ResourceReport{
				{Ref: "File/a", State: v1alpha1.StateFailed, Changes: mode, Corrective: true, OutOfSync: true, Since: stamp(noon())},
				{Ref: "File/b", State: v1alpha1.StateFailed, Message: "no", Since: stamp(noon())},
				{Ref: "File/c", State: v1alpha1.StateSkipped, Changes: mode, Corrective: true, OutOfSync: true, Since: stamp(noon())},
				{Ref: "File/d", State: v1alpha1.StateSkipped, Message: "skipped because of failed dependencies: File/a", Since: stamp(noon())},
				{Ref: "File/e", State: v1alpha1.StateNoop, Changes: mode, OutOfSync: true, Since: stamp(noon())},
				{Ref: "File/f", State: v1alpha1.StateChanged, Changes: mode, Corrective: true, Since: stamp(noon())},
			}},
		},
		"and does so while its schedule keeps a resource as it is": {
			[]results{{failing("a"), changed("b", false)}, {left("a"), changed("b", false)}},
			told{oneHour(), v1alpha1.RunCounts{Total: 2, InSync: 1, Changed: 1, OutOfSync: 1, Failed: 1}, []v1alpha1.ResourceReport{
				{Ref: "File/a", State: v1alpha1.StateFailed, Changes: mode, Corrective: true, OutOfSync: true, Since: stamp(noon())},
			}},
		},
		"skips a resource until its schedule first allows it": {
			[]results{{skipped("a")}, {left("a")}},
			told{noon(), v1alpha1.RunCounts{Total: 1, Skipped: 1}, []v1alpha1.ResourceReport{
				{Ref: "File/a", State: v1alpha1.StateSkipped, Message: "skipped because of failed dependencies: File/a", Since: stamp(noon())},
			}},
		},
		"sorts failures before skipped before noop, each by name": {
			[]results{{changed("e", true), noop("d"), noop("c"), skipped("b"), failed("a", "no")}},
			told{noon(), v1alpha1.RunCounts{Total: 5, InSync: 1, Changed: 1, OutOfSync: 2, Failed: 1, Skipped: 1, Noop: 2}, []v1alpha1.ResourceReport{
				failure("no", noon()),
				{Ref: "File/b", State: v1alpha1.StateSkipped, Message: "skipped because of failed dependencies: File/a", Since: stamp(noon())},
				{Ref: "File/c", State: v1alpha1.StateNoop, Changes: mode, OutOfSync: true, Since: stamp(noon())},
				{Ref: "File/d", State: v1alpha1.StateNoop, Changes: mode, OutOfSync: true, Since: stamp(noon())},
				{Ref: "File/e", State: v1alpha1.StateChanged, Changes: mode, Corrective: true, Since: stamp(noon())},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, toldBy(after(c.runs...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStatusHasTheExactTimesOfTheRun(t *testing.T) {
	run := ran(noon().Add(123456789*time.Nanosecond), changed("a", true))
	run.Report.Duration = report.Duration(1500 * time.Microsecond)
	next, _ := status.Next(v1alpha1.NodeCatalogStatus{}, status.Input{Now: noon(), Generation: 3, Run: run})
	want := &v1alpha1.LastRun{Started: metav1.NewTime(noon()), Duration: "0.001s", Ended: noon().Format("2006-01-02T15:04:05") + ".124956Z", Trigger: v1alpha1.TriggerInterval}
	if diff := cmp.Diff(want, next.LastRun); diff != "" {
		t.Error(diff)
	}
}

// Two resources may report the same generated resource. The API server accepts each name once.
func TestDuplicateReportsAreMerged(t *testing.T) {
	status, _ := status.Next(v1alpha1.NodeCatalogStatus{}, status.Input{
		Now: noon(), Generation: 3, Run: ran(noon(), noop("/srv/a"), failed("/srv/a", "broken"), noop("/srv/b")),
	})
	var told []string
	for _, r := range status.Resources {
		told = append(told, string(r.Ref)+" "+string(r.State))
	}
	if diff := cmp.Diff([]string{"File//srv/a Failed", "File//srv/b Noop"}, told); diff != "" {
		t.Error(diff)
	}
}

func TestUnchangedStatusIsNotWritten(t *testing.T) {
	facts := resource.Facts{"os": map[string]any{"name": "Debian", "none": nil}, "count": 2.0}
	base, _ := status.Next(v1alpha1.NodeCatalogStatus{}, status.Input{
		Now: noon(), Generation: 3, AgentVersion: "v1", Facts: facts, Run: ran(noon(), changed("a", true)),
	})
	// The API server formats JSON differently.
	base.Facts = &runtime.RawExtension{Raw: []byte(`{ "count": 2, "os": {"name":"Debian"} }`)}
	quiet := status.Input{Now: oneHour(), Generation: 3, AgentVersion: "v1", Facts: facts, Run: ran(oneHour(), inSync("a"))}
	for name, c := range map[string]struct {
		change func(*status.Input)
		want   bool
	}{
		"a quiet run":                  {func(*status.Input) {}, false},
		"no run":                       {func(in *status.Input) { in.Run = nil }, false},
		"no facts":                     {func(in *status.Input) { in.Facts = nil }, false},
		"a run with a change":          {func(in *status.Input) { in.Run = ran(oneHour(), changed("a", false)) }, true},
		"a run with one more resource": {func(in *status.Input) { in.Run = ran(oneHour(), inSync("a"), inSync("b")) }, true},
		"a run of another catalog":     {func(in *status.Input) { in.Run.Report.CatalogDigest = "sha256-bb" }, true},
		"a run of another generation":  {func(in *status.Input) { in.Run.Generation = 4 }, true},
		"a new generation":             {func(in *status.Input) { in.Generation = 4 }, true},
		"another fact":                 {func(in *status.Input) { in.Facts = resource.Facts{"count": 3.0} }, true},
		"another agent":                {func(in *status.Input) { in.AgentVersion = "v2" }, true},
		"a problem":                    {func(in *status.Input) { in.Problem = &status.Problem{Reason: "RunFailed", Message: "no"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := quiet
			run := *quiet.Run
			in.Run = &run
			c.change(&in)
			next, changed := status.Next(base, in)
			if changed != c.want {
				t.Errorf("changed is %t: %s", changed, cmp.Diff(base, next))
			}
			if !changed && cmp.Diff(base, next) != "" {
				t.Error("not the same:", cmp.Diff(base, next))
			}
		})
	}
}

func TestConditions(t *testing.T) {
	withheld := func() *status.Run {
		r := ran(noon(), inSync("a"), skipped("b"))
		r.Withheld = []v1alpha1.Withheld{{Ref: "File/c", Reason: "Conflict", Message: "two"}}
		return r
	}
	withheldAndFailed := func() *status.Run {
		r := ran(noon(), failed("a", "no"), skipped("b"))
		r.Withheld = withheld().Withheld
		return r
	}
	uninstalled := ran(noon(), inSync("a"))
	uninstalled.Withheld = []v1alpha1.Withheld{{Ref: "DNSZone/c", Reason: "Uninstalled"}}
	for name, c := range map[string]struct {
		in   status.Input // of generation 3
		want []string
	}{
		"before the first run": {
			status.Input{},
			[]string{"Ready False Applying: generation 3 is not applied yet", "Reconciling True Applying: generation 3 is not applied yet", "Stalled False Settled", "Degraded False Settled"},
		},
		"all in sync": {
			status.Input{Run: ran(noon(), inSync("a"), changed("b", true))},
			[]string{"Ready True Applied: all 2 resources are in sync", "Reconciling False Settled", "Stalled False Settled", "Degraded False Settled"},
		},
		"no resources": {
			status.Input{Run: ran(noon())},
			[]string{"Ready True Applied: all 0 resources are in sync", "Reconciling False Settled", "Stalled False Settled", "Degraded False Settled"},
		},
		"some are in noop": {
			status.Input{Run: ran(noon(), noop("a"), inSync("b"))},
			[]string{"Ready True Noop: 1 only reported: File/a", "Reconciling False Settled", "Stalled False Settled", "Degraded False Settled"},
		},
		"failures take precedence": {
			status.Input{Run: ran(noon(), failed("a", "no"), failed("g", "no"), failed("c", "no"), failed("d", "no"), failed("e", "no"), failed("f", "no"), skipped("b"), noop("h"))},
			[]string{
				"Ready False ResourcesFailed: 6 failed: File/a, File/c, File/d, File/e, File/f and 1 more",
				"Reconciling False Settled", "Stalled False Settled",
				"Degraded True ResourcesFailed: 6 failed: File/a, File/c, File/d, File/e, File/f and 1 more",
			},
		},
		"some are withheld and others fail": {
			status.Input{Run: withheldAndFailed()},
			[]string{"Ready False Withheld: 1 withheld: File/c; 1 failed: File/a", "Reconciling False Settled", "Stalled False Settled", "Degraded True ResourcesFailed: 1 failed: File/a"},
		},
		"held, and some are withheld": {
			status.Input{Run: withheld(), Held: &v1alpha1.Held{Since: *stamp(noon()), Resources: []v1alpha1.ResourceRef{"File/a"}}},
			[]string{
				"Ready False UpdateHeld: the node is not updated since 2026-01-02T12:00:00Z: it would lose File/a, and too many nodes would be deselected at once; kubectl describe fleet.fettle.dev shows how to confirm that",
				"Reconciling False Settled",
				"Stalled True UpdateHeld: the node is not updated since 2026-01-02T12:00:00Z: it would lose File/a, and too many nodes would be deselected at once; kubectl describe fleet.fettle.dev shows how to confirm that",
				"Degraded False Settled",
			},
		},
		"held, and disabled": {
			status.Input{Held: &v1alpha1.Held{}, Problem: &status.Problem{Reason: "Disabled", Message: "work"}},
			[]string{"Ready False Disabled: work", "Reconciling False Settled", "Stalled True Disabled: work", "Degraded False Settled"},
		},
		"some are withheld": {
			status.Input{Run: withheld()},
			[]string{"Ready False Withheld: 1 withheld: File/c", "Reconciling False Settled", "Stalled False Settled", "Degraded False Settled"},
		},
		"the kind of some was uninstalled": {
			status.Input{Run: uninstalled},
			[]string{"Ready True Applied: the resource is in sync", "Reconciling False Settled", "Stalled False Settled", "Degraded False Settled"},
		},
		"some were skipped": {
			status.Input{Run: ran(noon(), skipped("b"))},
			[]string{"Ready False Skipped: 1 skipped: File/b", "Reconciling False Settled", "Stalled False Settled", "Degraded False Settled"},
		},
		"an invalid catalog while the last good one is enforced": {
			status.Input{Problem: &status.Problem{Reason: "CatalogInvalid", Message: "bad"}, Run: ran(noon(), failed("a", "no"))},
			[]string{"Ready False CatalogInvalid: bad", "Reconciling False Settled", "Stalled True CatalogInvalid: bad", "Degraded True ResourcesFailed: 1 failed: File/a"},
		},
		"a missing catalog": {
			status.Input{Problem: &status.Problem{Reason: "CatalogUnavailable", Message: "gone"}},
			[]string{"Ready False CatalogUnavailable: gone", "Reconciling False Settled", "Stalled True CatalogUnavailable: gone", "Degraded False Settled"},
		},
		"a slow API server": {
			status.Input{Problem: &status.Problem{Reason: "Applying", Message: "timeout"}},
			[]string{"Ready False Applying: timeout", "Reconciling True Applying: timeout", "Stalled False Settled", "Degraded False Settled"},
		},
		"a run that could not start": {
			status.Input{Problem: &status.Problem{Reason: "RunFailed", Message: "disk full"}},
			[]string{"Ready False RunFailed: disk full", "Reconciling False Settled", "Stalled False Settled", "Degraded True RunFailed: disk full"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Now, c.in.Generation = noon(), 3
			s, _ := status.Next(v1alpha1.NodeCatalogStatus{}, c.in)
			var got []string
			for _, is := range s.Conditions {
				got = append(got, strings.TrimSuffix(fmt.Sprintf("%s %s %s: %s", is.Type, is.Status, is.Reason, is.Message), ": "))
				if is.ObservedGeneration != 3 || !is.LastTransitionTime.Time.Equal(noon()) {
					t.Errorf("%s has generation %d, since %s", is.Type, is.ObservedGeneration, is.LastTransitionTime)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWithheldResourcesAreCounted(t *testing.T) {
	t.Parallel()

	run := ran(noon(), inSync("a"), failed("b", "no"))
	for i := range 60 { // more than are listed
		run.Withheld = append(run.Withheld, v1alpha1.Withheld{Ref: v1alpha1.ResourceRef(fmt.Sprintf("File/w%02d", i)), Reason: "Conflict"})
	}
	run.Withheld = append(run.Withheld, v1alpha1.Withheld{Ref: "DNSZone/c", Reason: "Uninstalled"}) // no resource any more
	s, _ := status.Next(v1alpha1.NodeCatalogStatus{}, status.Input{Now: noon(), Generation: 3, Run: run})
	if diff := cmp.Diff(&v1alpha1.RunCounts{Total: 62, InSync: 1, Failed: 1, Withheld: 60}, s.Counts); diff != "" {
		t.Error(diff)
	}
	drifts := partial(oneHour(), drifted("a", "mode"))
	drifts.Withheld = run.Withheld
	s, _ = status.Next(s, status.Input{Now: oneHour(), Generation: 3, Run: drifts})
	if diff := cmp.Diff(&v1alpha1.RunCounts{Total: 62, InSync: 1, Changed: 1, Failed: 1, Withheld: 60}, s.Counts); diff != "" {
		t.Errorf("after a partial run: %s", diff)
	}
}

func TestUnchangedConditionKeepsTransitionTime(t *testing.T) {
	s := after(results{failed("a", "no")}, results{failed("a", "never")})
	for _, c := range s.Conditions {
		if !c.LastTransitionTime.Time.Equal(noon()) {
			t.Errorf("%s changed at %s", c.Type, c.LastTransitionTime)
		}
	}
}

func TestStatusSizeIsLimited(t *testing.T) {
	var many results
	for i := range 200 {
		r := failed(fmt.Sprintf("f%03d", i), "cannot write it: "+strings.Repeat("ä", 1000)+"\xff: no space left on device")
		for range 30 {
			r.Events = append(r.Events, report.Event{Property: "content", Is: strings.Repeat("x", 1000), Should: "y", Status: report.Failure})
		}
		many = append(many, r)
	}
	facts := resource.Facts{"small": "yes", "large": strings.Repeat("x", 100<<10), "larger": strings.Repeat("y", 200<<10)}
	s, _ := status.Next(v1alpha1.NodeCatalogStatus{}, status.Input{Now: noon(), Generation: 3, Facts: facts, Run: ran(noon(), many...)})
	if size := len(asJSON(t, s)); size > status.MaxSize {
		t.Errorf("it has %d bytes", size)
	}
	if len(s.Resources) == 0 || len(s.Resources)+int(s.Omitted) != 200 {
		t.Errorf("%d entries, and %d omitted", len(s.Resources), s.Omitted)
	}
	first := s.Resources[0]
	ends := strings.HasPrefix(first.Message, "cannot write it: ä") && strings.HasSuffix(first.Message, "ä\\xff: no space left on device")
	if len(first.Message) > 512 || !ends || len(first.Changes) != 16 || len(first.Changes[0].Is) > 128 {
		t.Errorf("an entry is %+v", first)
	}
	if got := string(s.Facts.Raw); got != `{"small":"yes"}` {
		t.Errorf("facts are %.100s", got)
	}

	var short results
	for i := range 60 {
		short = append(short, noop(fmt.Sprintf("f%02d", i)))
	}
	s = after(short)
	if len(s.Resources) != 50 || s.Omitted != 10 {
		t.Errorf("%d entries, and %d omitted", len(s.Resources), s.Omitted)
	}
	if !slices.IsSortedFunc(s.Resources, func(a, b v1alpha1.ResourceReport) int { return strings.Compare(string(a.Ref), string(b.Ref)) }) {
		t.Error("entries are not sorted")
	}
}

func TestUnmanagedFieldsAreKept(t *testing.T) {
	s, changed := status.Next(v1alpha1.NodeCatalogStatus{PublicKey: "key"}, status.Input{Now: noon(), Generation: 1})
	if s.PublicKey != "key" || !changed {
		t.Errorf("changed %t: %+v", changed, s)
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// partial is a run that handles only these resources.
func partial(at time.Time, resources ...report.ResourceReport) *status.Run {
	run := ran(at, resources...)
	run.Report.Partial, run.Trigger = true, v1alpha1.TriggerDrift
	return run
}

// The run of everything that follows a correction finds what the correction left, and changes nothing.
func TestRunAfterAPartialOneKeepsItsResult(t *testing.T) {
	before := after([]report.ResourceReport{inSync("a"), failed("b", "broken")})
	input := func(run *status.Run) status.Input {
		return status.Input{Now: oneHour(), Generation: 3, AgentVersion: "v1", Run: run}
	}
	corrected, _ := status.Next(before, input(partial(oneHour(), drifted("a", "mode"))))
	if diff := cmp.Diff([]v1alpha1.DriftRecord{record("a", oneHour(), oneHour(), 1, true, "mode")}, corrected.Drift); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
	after, changed := status.Next(corrected, input(ran(oneHour(), inSync("a"), failed("b", "broken"))))
	if diff := cmp.Diff(corrected, after); diff != "" || changed {
		t.Errorf("after the run of everything (-want +got):\n%s", diff)
	}
	inSyncAgain, _ := status.Next(before, input(partial(oneHour(), inSync("a"))))
	if diff := cmp.Diff(before, inSyncAgain); diff != "" {
		t.Errorf("after a partial run without drift (-want +got):\n%s", diff)
	}
}

// An agent that has not reached its cluster yet corrects drift during its first run, and then checks the correction.
func TestCorrectionBeforeTheFirstRunIsNotReplacedByItsCheck(t *testing.T) {
	t.Parallel()
	input := func(run *status.Run) status.Input { return status.Input{Now: oneHour(), Run: run} }
	corrected, _ := status.Next(v1alpha1.NodeCatalogStatus{}, input(partial(oneHour(), drifted("a", "mode"))))
	checked, changed := status.Next(corrected, input(partial(oneHour(), inSync("a"))))
	if diff := cmp.Diff(corrected, checked); diff != "" || changed {
		t.Errorf("after the check (-want +got):\n%s", diff)
	}
	if corrected.Counts != nil {
		t.Errorf("counts of all resources, although the others are unknown: %+v", corrected.Counts)
	}
}

// Drift that is corrected in the middle of a run is reported, but does not complete the generation.
func TestPartialRunKeepsAppliedGenerationAndOtherResults(t *testing.T) {
	before := after([]report.ResourceReport{inSync("a"), failed("b", "broken"), inSync("c")})
	run := partial(oneHour(), changed("a", true))
	run.Generation, run.Report.CatalogDigest = 4, "sha256-bb"
	next, _ := status.Next(before, status.Input{Now: oneHour(), Generation: 4, Run: run})
	if next.AppliedGeneration != 3 || next.AppliedDigest != "sha256-aa" {
		t.Errorf("generation %d, %s was applied", next.AppliedGeneration, next.AppliedDigest)
	}
	if diff := cmp.Diff(&v1alpha1.RunCounts{Total: 3, InSync: 2, Changed: 1, Failed: 1}, next.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	var refs []v1alpha1.ReportedRef
	for _, r := range next.Resources {
		refs = append(refs, r.Ref)
	}
	if diff := cmp.Diff([]v1alpha1.ReportedRef{"File/b", "File/a"}, refs); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

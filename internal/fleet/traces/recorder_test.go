package traces_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/traces"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A fixture is a recorder with the spans that have ended.
type fixture struct {
	*traces.Recorder
	clock *clocktesting.FakePassiveClock
	spans *tracetest.SpanRecorder
}

func newFixture() fixture {
	w := fixture{clock: clocktesting.NewFakePassiveClock(start), spans: tracetest.NewSpanRecorder()}
	w.Recorder = traces.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans)), w.clock)
	return w
}

func (w fixture) step(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// publish publishes a digest for a node.
func (w fixture) publish(t *testing.T, node, digest string) {
	t.Helper()
	ctx, span := w.Start(t.Context(), "publish")
	w.Publish(ctx, node, digest)
	span.End(nil)
}

// ended returns the spans as "parent > name, from begin to end: status, attributes", with times since start.
func (w fixture) ended() (all []string) {
	names := map[string]string{}
	for _, s := range w.spans.Ended() {
		names[s.SpanContext().SpanID().String()] = s.Name()
	}
	for _, s := range w.spans.Ended() {
		var attributes []string
		for _, a := range s.Attributes() {
			attributes = append(attributes, string(a.Key)+"="+a.Value.String())
		}
		slices.Sort(attributes)
		status := s.Status().Code.String() + " " + s.Status().Description
		if s.Status().Code == codes.Unset {
			status = ""
		}
		all = append(all, fmt.Sprintf("%s > %s, %s to %s: %s, %s", names[s.Parent().SpanID().String()], s.Name(), s.StartTime().Sub(start), s.EndTime().Sub(start), status, strings.Join(attributes, " ")))
	}
	return all
}

// run is the status of a node after a run.
func run(digest string, generation int64, ended, took string) v1alpha1.NodeCatalogStatus {
	return v1alpha1.NodeCatalogStatus{AppliedDigest: digest, AppliedGeneration: generation, LastRun: &v1alpha1.LastRun{
		Started: metav1.NewTime(start.Add(2 * time.Second)), Duration: took, Ended: ended, Trigger: v1alpha1.TriggerChange,
	}}
}

func TestSpansOfAReconciliation(t *testing.T) {
	t.Parallel()

	w := newFixture()
	ctx, all := w.Start(t.Context(), "reconcile")
	w.step(time.Millisecond)
	_, compile := w.Start(ctx, "compile")
	compile.Count("nodes", 3)
	w.step(2 * time.Millisecond)
	compile.End(nil)
	all.End(errors.New(`the API server rejects "SECRET"`))
	want := []string{
		"reconcile > compile, 1ms to 3ms: , fettle.nodes=3",
		" > reconcile, 0s to 3ms: Error see the log of the manager, ",
	}
	if diff := cmp.Diff(want, w.ended()); diff != "" {
		t.Error(diff)
	}
}

func TestARunIsAChildOfThePublicationThatItApplies(t *testing.T) {
	t.Parallel()

	w := newFixture()
	w.publish(t, "a", "sha256-1")
	w.publish(t, "gone", "sha256-1")
	w.Forget("gone")
	w.step(5 * time.Second)
	none, one := v1alpha1.NodeCatalogStatus{}, run("sha256-1", 1, "2026-01-02T03:04:07.250000Z", "150ms")
	one.Counts = &v1alpha1.RunCounts{Total: 9, InSync: 4, Changed: 3, OutOfSync: 1, Failed: 2, Skipped: 2, Noop: 1, Refreshed: 1}
	w.Run("a", none, one)
	again := run("sha256-1", 1, "2026-01-02T03:04:08.000000Z", "1s") // corrects drift
	w.Run("a", one, again)
	w.Run("b", none, one) // something else published it, such as a manager before
	w.Run("gone", none, one)
	w.publish(t, "a", "sha256-2")
	w.publish(t, "a", "sha256-3")
	two := run("sha256-2", 2, "2026-01-02T03:04:09.000000Z", "1s")
	w.Run("a", again, two) // a change that was overtaken
	w.Run("a", two, run("sha256-3", 3, "2026-01-02T03:04:10.000000Z", "1s"))

	attributes := func(node, digest string) string {
		return "fettle.catalog.digest=" + digest + " fettle.run.trigger=Change k8s.node.name=" + node
	}
	counts := func(node string) string {
		return "fettle.catalog.digest=sha256-1 fettle.resources.changed=3 fettle.resources.failed=2 fettle.resources.in_sync=4 fettle.resources.noop=1 fettle.resources.out_of_sync=1 " +
			"fettle.resources.refreshed=1 fettle.resources.skipped=2 fettle.resources.total=9 fettle.run.trigger=Change k8s.node.name=" + node
	}
	want := []string{
		" > publish, 0s to 0s: , ",
		" > publish, 0s to 0s: , ",
		"publish > run, 2.1s to 2.25s: Error resources failed, " + counts("a"),
		" > run, 2s to 3s: , " + attributes("a", "sha256-1"),
		" > run, 2.1s to 2.25s: Error resources failed, " + counts("b"),
		" > run, 2.1s to 2.25s: Error resources failed, " + counts("gone"),
		" > publish, 5s to 5s: , ",
		" > publish, 5s to 5s: , ",
		" > run, 3s to 4s: , " + attributes("a", "sha256-2"),
		"publish > run, 4s to 5s: , " + attributes("a", "sha256-3"),
	}
	if diff := cmp.Diff(want, w.ended()); diff != "" {
		t.Error(diff)
	}
}

func TestTimesThatNodesReportAreBounded(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct{ ended, took, want string }{
		"exact":             {"2026-01-02T03:04:07.250000Z", "150ms", "2.1s to 2.25s"},
		"of an older agent": {"", "150ms", "2s to 2.15s"},
		"no time":           {"yesterday", "soon", "2s to 2s"},
		"in the future":     {"2126-01-02T03:04:07.250000Z", "1s", "9s to 10s"},
		"long ago":          {"1970-01-02T03:04:07.250000Z", "1s", "9s to 10s"},
		"negative":          {"2026-01-02T03:04:07.250000Z", "-1h", "2.25s to 2.25s"},
		"very long":         {"2026-01-02T03:04:15.000000Z", "2000000h", "-23h59m50s to 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture()
			w.step(10 * time.Second)
			w.Run("a", v1alpha1.NodeCatalogStatus{}, run("sha256-1", 1, tt.ended, tt.took))
			want := []string{" > run, " + tt.want + ": , fettle.catalog.digest=sha256-1 fettle.run.trigger=Change k8s.node.name=a"}
			if diff := cmp.Diff(want, w.ended()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOnlyAStatusWithANewRunIsTraced(t *testing.T) {
	t.Parallel()

	var off *traces.Recorder
	one, two := run("sha256-1", 1, "2026-01-02T03:04:07.250000Z", "150ms"), run("sha256-1", 1, "2026-01-02T03:04:08.000000Z", "150ms")
	for name, tt := range map[string]struct {
		recorder    *traces.Recorder
		before, now v1alpha1.NodeCatalogStatus
		want        bool
	}{
		"the first":        {newFixture().Recorder, v1alpha1.NodeCatalogStatus{}, one, true},
		"another one":      {newFixture().Recorder, one, two, true},
		"the same":         {newFixture().Recorder, one, *one.DeepCopy(), false},
		"none":             {newFixture().Recorder, one, v1alpha1.NodeCatalogStatus{}, false},
		"without a tracer": {off, one, two, false},
	} {
		if got := tt.recorder.IsRun(tt.before, tt.now); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestANilRecorderRecordsNothing(t *testing.T) {
	t.Parallel()

	var off *traces.Recorder
	same, span := off.Start(t.Context(), "publish")
	span.Count("nodes", 1)
	off.Publish(same, "a", "sha256-1")
	off.Forget("a")
	span.End(nil)
	if same != t.Context() || span != nil {
		t.Errorf("there is a span: %v, %v", same, span)
	}
}

// Package traces records what happens to a change as OpenTelemetry spans: its compilation, its publication, and the
// runs of nodes that apply it.
//
// Spans have counts, names of nodes and digests of catalogs, and nothing of a resource. Runs are in the trace of the change that they apply
// because the manager remembers what it published: nodes report no more than their statuses.
package traces

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Recorder records spans. nil records nothing. It is safe for concurrent use.
type Recorder struct {
	tracer trace.Tracer
	clock  clock.PassiveClock
	mu     sync.Mutex
	latest map[string]publication // by node, while no run has applied it
}

// A publication is a desired state that was written for a node.
type publication struct {
	digest string
	span   trace.SpanContext
}

// scope names the spans' origin.
const scope = "github.com/fettle-dev/fettle"

// New returns a Recorder that gives its spans to a provider.
func New(to trace.TracerProvider, c clock.PassiveClock) *Recorder {
	return &Recorder{tracer: to.Tracer(scope), clock: c, latest: map[string]publication{}}
}

// A Span is a span that has begun. nil records nothing.
type Span struct {
	span  trace.Span
	clock clock.PassiveClock
}

// Start starts a span, which is a child of the one in the context if that has one.
func (r *Recorder) Start(ctx context.Context, name string) (context.Context, *Span) {
	if r == nil {
		return ctx, nil
	}
	ctx, span := r.tracer.Start(ctx, name, trace.WithTimestamp(r.clock.Now()))
	return ctx, &Span{span, r.clock}
}

// Count adds a number to the span.
func (s *Span) Count(of string, n int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int("fettle."+of, n))
	}
}

// End ends the span. Of an error it has only that there was one: texts of an API server can quote what it rejects.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, "see the log of the manager")
	}
	s.span.End(trace.WithTimestamp(s.clock.Now()))
}

// Publish notes that the desired state of a node is about to be written, within the span of the context.
func (r *Recorder) Publish(ctx context.Context, node, digest string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest[node] = publication{digest, trace.SpanContextFromContext(ctx)}
}

// Forget forgets a node.
func (r *Recorder) Forget(node string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.latest, node)
}

// IsRun reports whether a node reports a run with its next status, which is false for nil.
func (r *Recorder) IsRun(before, now v1alpha1.NodeCatalogStatus) bool {
	return r != nil && now.LastRun != nil && !equality.Semantic.DeepEqual(before.LastRun, now.LastRun)
}

// Run records the run that a node reports with its next status: see IsRun. The first run that applies what was published is a
// child of the publication; any other one is a trace of its own.
func (r *Recorder) Run(node string, before, now v1alpha1.NodeCatalogStatus) {
	ctx := context.Background()
	if applied := before.AppliedGeneration != now.AppliedGeneration || before.AppliedDigest != now.AppliedDigest; applied {
		ctx = trace.ContextWithSpanContext(ctx, r.take(node, now.AppliedDigest))
	}
	begin, end := times(*now.LastRun, r.clock.Now())
	_, span := r.tracer.Start(ctx, "run", trace.WithTimestamp(begin), trace.WithAttributes(attributes(node, now)...))
	if now.Counts != nil && now.Counts.Failed > 0 {
		span.SetStatus(codes.Error, "resources failed")
	}
	span.End(trace.WithTimestamp(end))
}

// take returns the span that published a digest for a node, and forgets it.
func (r *Recorder) take(node, digest string) trace.SpanContext {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.latest[node]
	if is.digest != digest {
		return trace.SpanContext{}
	}
	delete(r.latest, node)
	return is.span
}

// maxSkew is how wrong the clock of a node may be, and how late a report. Beyond it, a run counts as one that ended now.
const maxSkew = time.Hour

// times returns when a run began and ended, as far as a node can be believed.
func times(run v1alpha1.LastRun, now time.Time) (begin, end time.Time) {
	took, err := time.ParseDuration(run.Duration)
	if err != nil || took < 0 {
		took = 0
	}
	end, err = time.Parse(time.RFC3339Nano, run.Ended)
	if err != nil {
		end = run.Started.Add(took) // to the second
	}
	if end.After(now) || now.Sub(end) > maxSkew {
		end = now
	}
	return end.Add(-min(took, maxRun)), end
}

// maxRun is the longest run that a span shows.
const maxRun = 24 * time.Hour

func attributes(node string, s v1alpha1.NodeCatalogStatus) []attribute.KeyValue {
	all := []attribute.KeyValue{
		attribute.String("k8s.node.name", node),
		attribute.String("fettle.catalog.digest", s.AppliedDigest),
		attribute.String("fettle.run.trigger", string(s.LastRun.Trigger)),
	}
	if c := s.Counts; c != nil {
		for name, n := range map[string]int32{
			"total": c.Total, "in_sync": c.InSync, "changed": c.Changed, "out_of_sync": c.OutOfSync, "failed": c.Failed,
			"skipped": c.Skipped, "noop": c.Noop, "refreshed": c.Refreshed,
		} {
			all = append(all, attribute.Int("fettle.resources."+name, int(n)))
		}
	}
	return all
}

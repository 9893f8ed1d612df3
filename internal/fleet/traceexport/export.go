// Package traceexport sends spans to a collector by OTLP over HTTP, as the environment variables of OpenTelemetry say.
package traceexport

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/fettle-dev/fettle/internal/version"
)

// The environment variables that decide whether there are traces. The libraries read the others.
const (
	disabled       = "OTEL_SDK_DISABLED"
	exporter       = "OTEL_TRACES_EXPORTER"
	endpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

// Wanted reports whether the environment asks for traces. The error says why they cannot be sent, and contains no address.
func Wanted(env func(string) string) (bool, error) {
	name, address := first(env, tracesEndpoint, endpoint)
	if address == "" || strings.EqualFold(env(disabled), "true") || env(exporter) == "none" {
		return false, nil
	}
	if err := errors.Join(checkExporter(env), checkEndpoint(name, address)); err != nil {
		return false, err
	}
	return true, nil
}

// checkExporter returns an error for exporters and protocols other than the one that there is.
func checkExporter(env func(string) string) error {
	if is := env(exporter); is != "" && is != "otlp" {
		return fmt.Errorf("%s %q is not supported: use otlp or none", exporter, is)
	}
	if name, is := first(env, tracesProtocol, protocol); is != "" && is != "http/protobuf" {
		return fmt.Errorf("%s %q is not supported: use http/protobuf, which collectors accept on port 4318", name, is)
	}
	return nil
}

// checkEndpoint returns an error for the address in a variable, without the address.
func checkEndpoint(name, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%s is not an address of http or https, such as http://collector:4318", name)
	case u.User != nil:
		return fmt.Errorf("%s contains a user or a password: use OTEL_EXPORTER_OTLP_HEADERS from a Secret", name)
	}
	return nil
}

// first returns the first of some variables that is set, or "" and "".
func first(env func(string) string, names ...string) (name, value string) {
	for _, name := range names {
		if value := strings.TrimSpace(env(name)); value != "" {
			return name, value
		}
	}
	return "", ""
}

// shutdownTimeout limits how long the last spans delay an exit.
const shutdownTimeout = 3 * time.Second

// A Provider sends spans until it is shut down.
type Provider struct{ *sdktrace.TracerProvider }

// New returns a Provider that the environment configures. It connects to nothing yet.
func New(ctx context.Context, service string, log logr.Logger) (*Provider, error) {
	client, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot set up the exporter of traces: %w", err)
	}
	described, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", service), attribute.String("service.version", version.String())),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		log.Info("OTEL_RESOURCE_ATTRIBUTES is invalid, a part of it is ignored: use key=value,key=value")
	}
	return &Provider{sdktrace.NewTracerProvider(sdktrace.WithResource(described), sdktrace.WithBatcher(Reporting(client, log)))}, nil
}

// Close sends the spans that wait, for at most three seconds.
func (p *Provider) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	_ = p.Shutdown(ctx) // the exporter has logged an error
}

// Reporting returns an exporter that logs the first of several failures of another one, and the success after them.
func Reporting(next sdktrace.SpanExporter, log logr.Logger) sdktrace.SpanExporter {
	return &reporting{next: next, log: log}
}

type reporting struct {
	next    sdktrace.SpanExporter
	log     logr.Logger
	failing bool // calls are not concurrent
}

// ExportSpans implements [sdktrace.SpanExporter].
func (r *reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.next.ExportSpans(ctx, spans)
	switch failing := err != nil; {
	case failing && !r.failing:
		r.log.Error(cause(err), "traces cannot be sent; spans are lost until they can, and the next success is logged")
	case !failing && r.failing:
		r.log.Info("traces can be sent again")
	}
	r.failing = err != nil
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (r *reporting) Shutdown(ctx context.Context) error { return r.next.Shutdown(ctx) }

// cause returns why spans were not sent, without what the collector answered: that can quote the request with its headers.
func cause(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return errors.New("the collector answered with an error")
}

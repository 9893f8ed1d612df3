package traceexport_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/fettle-dev/fettle/internal/fleet/traceexport"
)

func TestTheEnvironmentEnablesTraces(t *testing.T) {
	t.Parallel()

	const general, own = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	on := map[string]string{general: "http://collector:4318"}
	for name, tt := range map[string]struct {
		env  map[string]string // besides on, unless that is nil
		want string
	}{
		"an endpoint":                   {map[string]string{}, "true"},
		"no variable":                   {nil, "false"},
		"an endpoint for traces":        {map[string]string{general: "", own: "https://collector/v1/traces"}, "true"},
		"an empty endpoint":             {map[string]string{general: " "}, "false"},
		"a disabled SDK":                {map[string]string{"OTEL_SDK_DISABLED": "True"}, "false"},
		"an SDK that is not disabled":   {map[string]string{"OTEL_SDK_DISABLED": "no"}, "true"},
		"no exporter":                   {map[string]string{"OTEL_TRACES_EXPORTER": "none"}, "false"},
		"the exporter":                  {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, "true"},
		"another exporter":              {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, `false, OTEL_TRACES_EXPORTER "zipkin" is not supported: use otlp or none`},
		"the protocol":                  {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "true"},
		"another protocol":              {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, `false, OTEL_EXPORTER_OTLP_PROTOCOL "grpc" is not supported: use http/protobuf, which collectors accept on port 4318`},
		"another protocol for others":   {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, "true"},
		"another protocol, but no SDK":  {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_SDK_DISABLED": "true"}, "false"},
		"an endpoint without a scheme":  {map[string]string{general: "SECRET:4318"}, "false, OTEL_EXPORTER_OTLP_ENDPOINT is not an address of http or https, such as http://collector:4318"},
		"an endpoint without a host":    {map[string]string{general: "http:///SECRET"}, "false, OTEL_EXPORTER_OTLP_ENDPOINT is not an address of http or https, such as http://collector:4318"},
		"an endpoint with a control":    {map[string]string{own: "http://SECRET\n"}, "true"}, // the SDK trims it, too
		"an endpoint with a password":   {map[string]string{own: "http://ann:SECRET@collector"}, "false, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT contains a user or a password: use OTEL_EXPORTER_OTLP_HEADERS from a Secret"},
		"an endpoint of something else": {map[string]string{general: "unix:///SECRET"}, "false, OTEL_EXPORTER_OTLP_ENDPOINT is not an address of http or https, such as http://collector:4318"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted, err := traceexport.Wanted(func(name string) string {
				if value, set := tt.env[name]; set || tt.env == nil {
					return value
				}
				return on[name]
			})
			got := fmt.Sprint(wanted)
			if err != nil {
				got += ", " + err.Error()
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// exporter fails with the next of its errors.
type exporter struct{ errs []error }

func (e *exporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	err := e.errs[0]
	e.errs = e.errs[1:]
	return err
}

func (*exporter) Shutdown(context.Context) error { return errors.New("not stopped") }

func TestOnlyTheFirstFailureAndTheNextSuccessAreLogged(t *testing.T) {
	t.Parallel()

	var log strings.Builder
	failing := &exporter{[]error{
		nil,
		fmt.Errorf("traces export: %w", &url.Error{Op: "Post", URL: "http://collector/SECRET", Err: errors.New("connection refused")}),
		errors.New("again"),
		nil,
		nil,
		errors.New("failed to send to http://collector/SECRET: 401 Unauthorized (body: Bearer SECRET)"),
		nil,
		fmt.Errorf("traces export: %w", context.DeadlineExceeded),
	}}
	reporting := traceexport.Reporting(failing, funcr.New(func(_, args string) { fmt.Fprintln(&log, args) }, funcr.Options{}))
	for len(failing.errs) > 0 {
		if err := reporting.ExportSpans(t.Context(), nil); err != nil {
			t.Errorf("an error would be logged a second time: %v", err)
		}
	}
	const failure = `"logger"="" "msg"="traces cannot be sent; spans are lost until they can, and the next success is logged" `
	const success = `"level"=0 "msg"="traces can be sent again"`
	want := strings.Join([]string{failure + `"error"="connection refused"`, success, failure + `"error"="the collector answered with an error"`, success, failure + `"error"="context deadline exceeded"`, ""}, "\n")
	if diff := cmp.Diff(strings.ReplaceAll(want, `"logger"="" `, ""), log.String()); diff != "" {
		t.Error(diff)
	}
	if err := reporting.Shutdown(t.Context()); err == nil {
		t.Error("it is not shut down")
	}
}

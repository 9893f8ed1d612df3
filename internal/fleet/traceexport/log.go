package traceexport

import (
	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// SetLogger sends the warnings of OpenTelemetry's libraries to a log. It leaves out their details, which quote the values of
// environment variables, also those with credentials. Call it when a program starts.
func SetLogger(log logr.Logger) {
	otel.SetLogger(logr.New(&sink{log}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "traces may be incomplete") }))
}

// A sink logs what an error is about.
type sink struct{ log logr.Logger }

// Init implements [logr.LogSink].
func (*sink) Init(logr.RuntimeInfo) {}

// Enabled implements [logr.LogSink].
func (*sink) Enabled(int) bool { return false }

// Info implements [logr.LogSink].
func (*sink) Info(int, string, ...any) {}

// Error implements [logr.LogSink].
func (s *sink) Error(_ error, message string, _ ...any) {
	s.log.Info("an OTEL_ environment variable is invalid and ignored", "problem", message)
}

// WithValues implements [logr.LogSink].
func (s *sink) WithValues(...any) logr.LogSink { return s }

// WithName implements [logr.LogSink].
func (s *sink) WithName(string) logr.LogSink { return s }

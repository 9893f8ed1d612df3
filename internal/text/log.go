package text

import (
	"fmt"
	"io"
	"log/slog"
)

// LogHandler returns a handler that writes each record as one line of printable JSON. Strings, errors
// and values with a String method are escaped with [Line], other values as in JSON.
func LogHandler(to io.Writer, level slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(jsonWriter{to}, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		a.Key = Line(a.Key)
		switch a.Value.Kind() {
		case slog.KindString:
			a.Value = slog.StringValue(Line(a.Value.String()))
		case slog.KindAny:
			switch v := a.Value.Any().(type) {
			case error:
				a.Value = slog.StringValue(Line(Error(v)))
			case fmt.Stringer:
				a.Value = slog.StringValue(Line(v.String()))
			}
		default: // numbers and times need no escape
		}
		return a
	}})
}

// A jsonWriter escapes JSON. Each write must be a complete value.
type jsonWriter struct{ to io.Writer }

// Write implements [io.Writer].
func (w jsonWriter) Write(raw []byte) (int, error) {
	if _, err := w.to.Write(EscapeJSON(raw)); err != nil {
		return 0, err
	}
	return len(raw), nil
}

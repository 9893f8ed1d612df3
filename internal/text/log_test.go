package text_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/test/fixtures/hostile"
)

func TestALogRecordIsOnePrintableLine(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var out strings.Builder
		log := slog.New(text.LogHandler(&out, slog.LevelDebug))
		message := hostile.String(random)
		log.With(hostile.String(random), hostile.String(random)).WithGroup("g").Info(message,
			"error", errors.Join(errors.New(hostile.String(random)), errors.New("b")), "list", []string{hostile.String(random)},
			"host", netip.MustParseAddr("::1"), "any", map[string]string{hostile.String(random): hostile.String(random)})
		line := strings.TrimSuffix(out.String(), "\n")
		printable(t, line, "")
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if record["msg"] != text.Line(message) {
			t.Fatalf("got %q of %q", record["msg"], message)
		}
	}
}

func TestErrorIsInOneLine(t *testing.T) {
	joined := errors.Join(errors.New("a"), errors.Join(errors.New("b"), errors.New("c")))
	for want, err := range map[string]error{
		"a; b; c":              joined,
		"x; y":                 errors.New("x\ny"),
		"in f: a; b; c":        fmt.Errorf("in f: %w", joined),
		"two errors: * a; * b": errors.New("two errors:\n\t* a\n\t* b\n"),
		`unknown command "aply" for "fettle"; Did you mean this? apply`: errors.New("unknown command \"aply\" for \"fettle\"\n\nDid you mean this?\n\tapply\n\n"),
		"exit status 1; output: Exception in main; at a.b(C.java)":      errors.New("exit status 1; output: Exception in main\r\n\tat a.b(C.java)"),
		"at the end.":   errors.New("at the end.\n"),
		"  as it is \t": errors.New("  as it is \t"),
	} {
		if got := text.Error(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

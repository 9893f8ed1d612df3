package exec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A tool may write in Latin-1.
func TestOutputKeepsInvalidUTF8(t *testing.T) {
	h, _ := open(t)
	report, err := engine.Transaction{Host: h, Now: time.Now}.Run(t.Context(), []resource.Item{
		item(t, "a", `{command: 'printf "caf\\351 \\\\xff\\n"', shell: true, logOutput: always}`),
		item(t, "b", `{command: 'printf "caf\\351\\n"; exit 1', shell: true}`),
	})
	must(t, err)
	if out := report.Resources[0].Events[0].Output; out != "caf\xe9 \\xff\n" {
		t.Errorf("the output is %q", out)
	}
	if message := report.Resources[1].Events[0].Message; !strings.HasSuffix(message, "output: caf\xe9") {
		t.Errorf("the message is %q", message)
	}
	raw, err := json.Marshal(report)
	must(t, err)
	if !strings.Contains(string(raw), `caf\\xe9 \\x5cxff\n`) {
		t.Errorf("as JSON: %s", raw)
	}
}

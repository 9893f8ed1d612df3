package exec_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/providers/exec"
)

// Whatever a command writes, its output is reported in bounded length and without the values of
// the environment and their lines.
func FuzzOutput(f *testing.F) {
	f.Add("it is s3cret", "no", "s3cret", false)
	f.Add("s3cr", "it is s3c", "s3cret", true)
	f.Add("", "one\ntwoo", "one\ntwoo", false)
	f.Add("s3\xffcret", "", "s3cret", false)
	f.Add(strings.Repeat("ä", 3000), "s3cret", "s3cret", true)
	f.Fuzz(func(t *testing.T, stdout, stderr, secret string, truncated bool) {
		a := exec.Attributes{}
		a.Environment = []string{"A=" + secret, "B=" + secret + "word"}
		text := exec.Output(host.Result{Stdout: []byte(stdout), Stderr: []byte(stderr), Truncated: truncated}, a)
		if len(text) > 2100 || utf8.ValidString(stdout) && utf8.ValidString(stderr) && utf8.ValidString(secret) && !utf8.ValidString(text) {
			t.Errorf("output has %d bytes: %q", len(text), text)
		}
		if strings.ContainsAny(secret, "[]") || !utf8.ValidString(secret) { // the mark itself, and what no manifest can say
			return
		}
		mark := redact.Mark + "..."
		for s := range strings.SplitSeq(secret, "\n") {
			if len(s) > 3 && !strings.Contains(mark, s) && strings.Contains(strings.TrimPrefix(text, "..."), s) {
				t.Errorf("output %q contains %q", text, s)
			}
		}
	})
}

package apt_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/providers/package/apt"
)

func TestFailureKeepsInvalidUTF8(t *testing.T) {
	res := host.Result{ExitCode: 100, Stderr: []byte("E: caf\xe9 s3cret\n")}
	if got, want := apt.Failure(res, []string{"A=s3cret"}).Error(), "E: caf\xe9 [redacted]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFailureOfTruncatedOutputContainsNoPartOfASecret(t *testing.T) {
	res := host.Result{ExitCode: 100, Stderr: []byte("E: bad proxy http://ann:hunt"), Truncated: true}
	if got, want := apt.Failure(res, []string{"http_proxy=http://ann:hunter2@proxy"}).Error(), "E: bad proxy"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Whatever a tool writes, the error is of bounded length and contains no value of the environment.
func FuzzFailure(f *testing.F) {
	f.Add("The following packages have unmet dependencies:\n a : Depends: b\n", "E: Unable to correct problems\n", "http://ann:s3cret@proxy", false)
	f.Add("Waiting for cache lock: s3cret-and-more", "debconf: x\n s3cret \n", "s3cret", false)
	f.Add("", strings.Repeat("E: x\xff\n", 500)+"s3cret\nword", "s3cret\nword", false)
	f.Add("", "E: two  blanks", "two  blanks", false)
	f.Add("Waiting for cache lock: s3cret-an", "E: s3cret-\n", "s3cret-and-more", true)
	f.Fuzz(func(t *testing.T, stdout, stderr, secret string, truncated bool) {
		res := host.Result{ExitCode: 100, Stdout: []byte(stdout), Stderr: []byte(stderr), Truncated: truncated}
		text := apt.Failure(res, []string{"A=" + secret, "B=" + secret + "word"}).Error()
		if len(text) > 1100 || utf8.ValidString(stdout) && utf8.ValidString(stderr) && utf8.ValidString(secret) && !utf8.ValidString(text) {
			t.Errorf("got %d bytes: %q", len(text), text)
		}
		if strings.ContainsAny(secret, "[]();:") || !utf8.ValidString(secret) { // the marks themselves, and what no manifest can contain
			return
		}
		marks := redact.Mark + "(1 lines omitted) exit code 100"
		for s := range strings.SplitSeq(secret, "\n") {
			if len(s) > 3 && !strings.Contains(marks, s) && strings.Contains(strings.TrimPrefix(text, "..."), s) {
				t.Errorf("got %q, which contains %q", text, s)
			}
		}
	})
}

package redact_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

func TestOutputIsRedacted(t *testing.T) {
	secrets := redact.EnvironmentSecrets([]string{"A=s3cret", "B=s3cret-token", "C=first line\nsecond", "D=yes", "E=Zoë1", "F=a\xffb\xfec", "G", "H=token-ring", "I=pre-s3cret-post"})
	for _, c := range []struct {
		truncated            bool
		stdout, stderr       string
		wantStdout, wantErrs string
	}{
		{false, "s3cret-token s3cret yes", "first line, second", "[redacted] [redacted] yes", "[redacted], [redacted]"},
		{false, "s3cr", "a s3cret-tok", "s3cr", "a [redacted]-tok"},
		{true, "a s3cr", "a s3cret-tok", "a ", "a "},
		{true, "a s3cret", "s3cret-token", "a ", "[redacted]"},
		{true, "a first line\nsec", "nothing", "a ", "nothing"},
		{true, "a Zo\xc3", "a\xffb\xfe", "a ", ""},              // in the middle of a character
		{true, "a s3cret-token", "b tok", "a [redacted]", "b "}, // the end of one secret is the beginning of another
		{true, "a pre-s3cret-p", "", "a ", ""},                  // the beginning of one has another in it
		{false, "s3cret-token-ring", "s3crets3cret", "[redacted]", "[redacted]"},
		{false, "a\xffb\xfec", "s3\xffcret", "[redacted]", "s3\xffcret"}, // nothing is dropped that would complete a secret later
	} {
		got := redact.Output(host.Result{Stdout: []byte(c.stdout), Stderr: []byte(c.stderr), Truncated: c.truncated}, secrets)
		want := host.Result{Stdout: []byte(c.wantStdout), Stderr: []byte(c.wantErrs), Truncated: c.truncated}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q, %q (-want +got):\n%s", c.stdout, c.stderr, diff)
		}
	}
}

func TestEmptySecretRedactsNothing(t *testing.T) {
	if got := redact.Text("a 42 b", []string{"", "42"}); got != "a [redacted] b" {
		t.Error(got)
	}
}

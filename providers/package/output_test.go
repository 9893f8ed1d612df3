package pkg_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	pkg "github.com/fettle-dev/fettle/providers/package"
)

func TestExplanationKeepsBytesThatAreNotUTF8(t *testing.T) {
	res := host.Result{ExitCode: 100, Stderr: []byte("E: caf\xe9 s3cret\n")}
	if got, want := pkg.Explanation(res, []string{"A=s3cret"}), "E: caf\xe9 [redacted]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExplanationOfTruncatedOutputHasNoPartOfASecret(t *testing.T) {
	res := host.Result{ExitCode: 100, Stderr: []byte("E: bad proxy http://ann:hunt"), Truncated: true}
	if got, want := pkg.Explanation(res, []string{"http_proxy=http://ann:hunter2@proxy"}), "E: bad proxy"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package hosttest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

// Fake commands share state like real ones: getent finds the users that useradd adds.
func Example() {
	t := new(testing.T) // in a test, the test's own

	h := hosttest.New(t)
	h.Put("/etc/os-release", "ID=debian\n")
	var users []string
	h.Handle("useradd", func(cmd host.Cmd) host.Result {
		users = append(users, cmd.Args[len(cmd.Args)-1])
		return host.Result{}
	})
	h.Handle("getent", func(cmd host.Cmd) host.Result {
		if slices.Contains(users, cmd.Args[2]) {
			return host.Result{}
		}
		return host.Result{ExitCode: 2}
	})

	// The code under test runs on h here, or on h.ReadOnly() if it must not change anything.

	for _, line := range h.Transcript() {
		if strings.HasPrefix(line, "!") {
			t.Errorf("a check changed the host: %s", line)
		}
	}
}

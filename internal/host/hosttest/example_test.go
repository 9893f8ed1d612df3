package hosttest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

// A fake command has state, as the real one has: what useradd adds, getent finds.
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

	// Here the code under test runs on h, or on h.ReadOnly() when it may only look.

	for _, line := range h.Transcript() {
		if strings.HasPrefix(line, "!") {
			t.Errorf("a check changed the host: %s", line)
		}
	}
}

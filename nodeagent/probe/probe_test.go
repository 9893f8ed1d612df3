package probe_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/nodeagent/probe"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// serve serves checks until the test ends, and returns the socket.
func serve(t *testing.T, checks probe.Checks) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "agent.sock")
	serveAt(t, socket, checks)
	return socket
}

// serveAt returns a function that stops the server.
func serveAt(t *testing.T, socket string, checks probe.Checks) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- probe.Serve(ctx, socket, checks) }()
	const limit, poll = patient.Limit, 5 * time.Millisecond
	for deadline := time.After(limit); probe.Ask(t.Context(), socket, "up") == nil || !strings.Contains(probe.Ask(t.Context(), socket, "up").Error(), "unknown probe"); {
		select {
		case <-deadline:
			t.Fatal("the server does not start")
		case <-time.After(poll):
		}
	}
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	}
}

func TestAskReturnsTheResultOfACheck(t *testing.T) {
	socket := serve(t, probe.Checks{
		"good":    func() error { return nil },
		"bad":     func() error { return errors.New("two\nlines") },
		"verbose": func() error { return errors.New(strings.Repeat("x", 10000)) },
	})
	for check, want := range map[string]string{
		"good": "", "bad": `two\nlines`, "verbose": "xxx", "none": `unknown probe "none"`,
	} {
		err := probe.Ask(t.Context(), socket, check)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", check, err, want)
		}
	}
}

func TestAskFailsWithoutAnAgent(t *testing.T) {
	err := probe.Ask(t.Context(), filepath.Join(t.TempDir(), "agent.sock"), "ready")
	if err == nil || !strings.HasPrefix(err.Error(), "the agent does not answer: ") {
		t.Errorf("got %v", err)
	}
}

func TestServeReplacesASocketOfAnEarlierProcess(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "agent.sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	if err := old.Close(); err != nil { // as after SIGKILL
		t.Fatal(err)
	}
	stop := serveAt(t, socket, probe.Checks{"ready": func() error { return nil }})
	defer stop()
	if err := probe.Ask(t.Context(), socket, "ready"); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheAgentsUserMayConnect(t *testing.T) {
	info, err := os.Stat(serve(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the socket is %o", info.Mode().Perm())
	}
}

func TestASilentClientDelaysNobody(t *testing.T) {
	socket := serve(t, probe.Checks{"ready": func() error { return nil }})
	silent, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := probe.Ask(t.Context(), socket, "ready"); err != nil {
		t.Error(err)
	}
}

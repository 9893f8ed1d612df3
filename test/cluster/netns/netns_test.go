package netns_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/fettle-dev/fettle/test/cluster/netns"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

func TestKillEndsTheProcessesInTheNamespaceAlone(t *testing.T) {
	debian.Require(t, "ip", "nsenter")
	ns := netns.Namespace{Name: "fettle-test-kill"}
	if err := ns.Kill(t.Context()); err != nil {
		t.Fatalf("without a namespace: %v", err)
	}
	if err := ns.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ns.Delete(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	inside := start(t, ns.Enter("sh", "-c", "echo started; exec sleep infinity"))
	outside := start(t, []string{"sh", "-c", "echo started; exec sleep infinity"})
	if err := ns.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	patient.Receive(t, "the process in the namespace ends", inside)
	select {
	case <-outside:
		t.Error("a process outside the namespace ended")
	default:
	}
}

// start starts a command that prints a line when it runs, and returns a channel that is closed when it has ended.
func start(t *testing.T, command []string) <-chan struct{} {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	return ended
}

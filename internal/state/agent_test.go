package state_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fettle-dev/fettle/internal/state"
)

func TestOneAgentActsAtATime(t *testing.T) {
	synctest.Test(t, oneAgentActsAtATime) // whose clock does not depend on the machine
}

func oneAgentActsAtATime(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	acting := func(want string, acts bool) {
		t.Helper()
		if got, is, err := state.ActingAgent(dir); got != want || is != acts || err != nil {
			t.Errorf("the acting agent is %q, %t, %v", got, is, err)
		}
	}
	acting("", false)
	first, err := state.LockAgent(t.Context(), dir, "process 1", nil)
	if err != nil {
		t.Fatal(err)
	}
	acting("process 1", true)
	if _, err := state.TryLockAgent(dir, "process 2"); err == nil || err.Error() != "another agent acts on this host: process 1" {
		t.Errorf("the second agent: %v", err)
	}

	waits, took := make(chan string, 10), make(chan error, 1)
	var second *state.AgentLock
	go func() {
		var err error
		second, err = state.LockAgent(t.Context(), dir, "process 2", func(why *state.AgentLockedError) { waits <- why.Holder })
		took <- err
	}()
	if holder := <-waits; holder != "process 1" {
		t.Errorf("waits for %q", holder)
	}
	released := time.Now()
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-took; err != nil || time.Since(released) > time.Second {
		t.Fatalf("took over after %s, %v", time.Since(released), err)
	}
	acting("process 2", true)
	if err := second.Unlock(); err != nil {
		t.Fatal(err)
	}
	acting("", false)
	if len(waits) > 0 {
		t.Error("the wait was reported more than once")
	}
}

func TestWaitForAgentLockEndsWithContext(t *testing.T) {
	dir := t.TempDir()
	lock, err := state.TryLockAgent(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock() //nolint:errcheck // the test is over
	ctx, stop := context.WithCancel(t.Context())
	if _, err := state.LockAgent(ctx, dir, "b", func(*state.AgentLockedError) { stop() }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

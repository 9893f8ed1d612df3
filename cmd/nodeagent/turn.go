package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/internal/version"
)

// A turn runs an agent while no other one acts on the host: a pod of the DaemonSet and a service of the host can both be
// installed. Its methods are safe for concurrent use.
type turn struct {
	dir   string // the state directory, which has the lock
	run   func(context.Context) error
	ready func() error
	log   *slog.Logger

	waits  atomic.Pointer[state.AgentLockedError]
	acting atomic.Bool
}

// Run waits for its turn and runs the agent until ctx ends.
func (t *turn) Run(ctx context.Context) error {
	lock, err := state.LockAgent(ctx, t.dir, holder(), func(why *state.AgentLockedError) {
		t.waits.Store(why)
		t.log.Info("this agent waits", "reason", why.Error())
	})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	t.acting.Store(true)
	if err != nil { // such as a full disk, which the agent reports. The lock of the state still separates runs.
		t.log.Warn("cannot make sure that no other agent acts", "error", err)
		return t.run(ctx)
	}
	if t.waits.Load() != nil {
		t.log.Info("this agent takes over")
	}
	return errors.Join(t.run(ctx), lock.Unlock())
}

// Ready returns an error until the agent has proven that it works, or knows that another one acts. A waiting agent is
// ready: otherwise, it would stop the rollout of the DaemonSet.
func (t *turn) Ready() error {
	if !t.acting.Load() && t.waits.Load() != nil {
		return nil
	}
	return t.ready()
}

// Acting returns an error unless this agent acts on the host.
func (t *turn) Acting() error {
	switch {
	case t.acting.Load():
		return nil
	case t.waits.Load() != nil:
		return t.waits.Load()
	}
	return errors.New("the agent starts")
}

// holder names this agent to others. Its process is that of the host's process table, because a pod has hostPID.
func holder() string {
	kind := "process"
	switch {
	case os.Getenv("KUBERNETES_SERVICE_HOST") != "": // set by the kubelet
		kind = "pod, process"
	case os.Getenv("INVOCATION_ID") != "": // set by systemd
		kind = "service, process"
	}
	return fmt.Sprintf("nodeagent %s, %s %d", version.String(), kind, os.Getpid())
}

package nodeagent

import (
	"errors"
	"sync/atomic"
)

// readiness is why the agent is not ready yet. It is safe for concurrent use. The zero value is an agent whose first run
// has not ended.
type readiness struct {
	ready   atomic.Bool
	failure atomic.Pointer[string]
}

// succeeded marks the agent as ready permanently: rollouts ask whether a new revision works at all.
func (r *readiness) succeeded() { r.ready.Store(true) }

// failed records why a run did not take place.
func (r *readiness) failed(err error) { r.failure.Store(new(err.Error())) }

func (r *readiness) check() error {
	if r.ready.Load() {
		return nil
	}
	if failure := r.failure.Load(); failure != nil {
		return errors.New("no run has finished since the start: " + *failure)
	}
	return errors.New("no run has finished since the start")
}

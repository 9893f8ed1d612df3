package nodeagent

import (
	"context"
	"errors"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
)

// simulations are the simulated runs of an agent, one at a time, beside its goroutine and between two runs.
type simulations struct {
	asked   chan func() // begin one, on the agent's goroutine
	current *simulating // the last one; nil if it is known to have ended
}

// A simulating run has not ended yet.
type simulating struct {
	end  context.CancelCauseFunc
	done <-chan struct{}
}

// errRunDue ends a simulated run.
var errRunDue = errors.New("a run of the host was due")

// run simulates a run, again and again until none is due in between. prepare is called on the agent's goroutine, and returns what to do.
func (s *simulations) run(ctx context.Context, prepare func() (func(context.Context) (report.Report, error), error)) (result report.Report, err error) {
	for {
		done := make(chan struct{})
		begin := func() {
			var simulate func(context.Context) (report.Report, error)
			if simulate, err = prepare(); err != nil {
				close(done)
				return
			}
			one, end := context.WithCancelCause(ctx)
			one = host.WithAbort(one, one)
			s.end() // there is none, unless two questions are handled at once
			s.current = &simulating{end, done}
			go func() {
				defer close(done)
				defer end(nil)
				if result, err = simulate(one); errors.Is(context.Cause(one), errRunDue) {
					err = errRunDue
				}
			}()
		}
		select {
		case s.asked <- begin:
		case <-ctx.Done():
			return result, ctx.Err()
		}
		if <-done; !errors.Is(err, errRunDue) {
			return result, err
		}
	}
}

// end ends a simulated run, and waits for that: it reads what runs change.
func (s *simulations) end() {
	if s.current != nil {
		s.current.end(errRunDue)
		<-s.current.done
		s.current = nil
	}
}

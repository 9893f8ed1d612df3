package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// A Stage implements the interface of tests outside of one, so that benchmarks can use the fixtures of tests: a failure ends it,
// and clean-ups run at its end.
type Stage struct {
	name string
	ends []func()
}

// failure is the panic value of Fatalf.
type failure struct{ error }

// Helper does nothing.
func (*Stage) Helper() {}

// Fatalf ends the stage.
func (*Stage) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Errorf reports a failure that affects no result.
func (s *Stage) Errorf(format string, args ...any) { s.Logf(format, args...) }

// Logf prints the progress.
func (s *Stage) Logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, s.name+": "+format+"\n", args...)
}

// Cleanup has something done at the end.
func (s *Stage) Cleanup(end func()) { s.ends = append(s.ends, end) }

// Must ends the stage for an error.
func (*Stage) Must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Warn reports an error that affects no result.
func (s *Stage) Warn(err error) {
	if err != nil {
		s.Logf("%v", err)
	}
}

// Pause waits.
func (s *Stage) Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
		s.Must(ctx.Err())
	case <-time.After(d):
	}
}

// patience is more than anything takes on a slow machine.
const patience = time.Hour

// Until waits until something holds, and asks at an interval.
func (s *Stage) Until(ctx context.Context, what string, interval time.Duration, holds func() bool) {
	for deadline := time.Now().Add(patience); !holds(); s.Pause(ctx, interval) {
		if time.Now().After(deadline) {
			s.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// TempDir makes a directory that is removed at the end.
func (s *Stage) TempDir(parent string) string {
	dir, err := os.MkdirTemp(parent, "fettle-bench-"+s.name+"-")
	s.Must(err)
	s.Cleanup(func() { s.Warn(os.RemoveAll(dir)) })
	return dir
}

// On runs play on a stage with the name of a benchmark, and returns the failure that ended it.
func On(name string, play func(*Stage)) (err error) {
	s := &Stage{name: name}
	defer func() {
		for _, end := range slices.Backward(s.ends) {
			end()
		}
		if ended := recover(); ended != nil {
			f, ok := ended.(failure)
			if !ok {
				panic(ended)
			}
			err = f.error
		}
	}()
	play(s)
	return nil
}

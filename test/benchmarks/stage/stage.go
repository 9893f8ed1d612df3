// Package stage lets benchmarks, which are programs, use the fixtures of tests.
package stage

import (
	"fmt"
	"os"
	"slices"
)

// A Stage implements the interface of tests outside of one: a failure ends it, and clean-ups run at its end.
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
func (s *Stage) Errorf(format string, args ...any) {
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
		s.Errorf("%v", err)
	}
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

package main

import (
	"fmt"
	"os"
	"slices"
)

// A stage implements the interface of tests outside of one: a failure ends it, and clean-ups run at its end.
type stage struct{ ends []func() }

// failure is the panic value of Fatalf.
type failure struct{ error }

func (*stage) Helper() {}

// Fatalf ends the stage.
func (*stage) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Errorf reports a failure that affects no result.
func (*stage) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "drift: "+format+"\n", args...)
}

// Cleanup has something done at the end.
func (s *stage) Cleanup(end func()) { s.ends = append(s.ends, end) }

// must ends the stage for an error.
func (s *stage) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// on runs play on a stage, and returns the failure that ended it.
func on(play func(*stage)) (err error) {
	s := &stage{}
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

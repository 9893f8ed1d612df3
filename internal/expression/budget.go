package expression

import (
	"errors"
	"fmt"
)

// Cost is what an evaluation takes, by the tables of this package.
type Cost struct {
	Time  int // in units; one is about a nanosecond
	Bytes int // allocated in total, at most; what is freed counts, too
}

// Add returns the sum of two costs.
func (c Cost) Add(o Cost) Cost { return Cost{c.Time + o.Time, c.Bytes + o.Bytes} }

func (c Cost) times(n int) Cost { return Cost{times(c.Time, n), times(c.Bytes, n)} }

// unaffordable is more than any evaluation has.
func unaffordable() Cost { return Cost{MaxTime + 1, MaxBytes + 1} }

// The limits of one evaluation: 100 ms and 16 MiB.
const (
	MaxTime  = 100_000_000
	MaxBytes = 16 << 20
)

// ErrTooCostly is the error of an evaluation that exceeds its limits.
var ErrTooCostly = errors.New("it exceeds the limits of one evaluation")

var (
	errTime  = fmt.Errorf("%w: it takes more than %d units of time, about 100 ms; loop over less", ErrTooCostly, MaxTime)
	errBytes = fmt.Errorf("%w: it takes more than %d MiB of memory; make less text and shorter lists", ErrTooCostly, MaxBytes>>20)
)

// ErrCutOff is the error of an evaluation that takes longer than its caller allows, which is less than [MaxTime].
var ErrCutOff = errors.New("it takes longer than is left")

// A budget is what one evaluation has spent, and the time that it may. It is not safe for concurrent use.
type budget struct {
	spent Cost
	time  int
}

func (b *budget) reset(time int) { b.spent, b.time = Cost{}, min(time, MaxTime) }

// charge spends, or returns an error that wraps ErrTooCostly. Once it has, it does so for every cost.
func (b *budget) charge(c Cost) error {
	switch {
	case c.Time > b.time-b.spent.Time && b.time < MaxTime:
		b.spent.Time = b.time
		return ErrCutOff
	case c.Time > MaxTime-b.spent.Time:
		b.spent.Time = MaxTime
		return errTime
	case c.Bytes > MaxBytes-b.spent.Bytes:
		b.spent.Bytes = MaxBytes
		return errBytes
	}
	b.spent = b.spent.Add(c)
	return nil
}

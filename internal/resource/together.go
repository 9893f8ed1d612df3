package resource

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Together calls f for 0 to n-1, at most so many at once, and returns their errors in
// that order. A panic is the error of its call: one bad resource never stops the others.
func Together(n, most int, f func(i int) error) []error {
	errs := make([]error, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, most) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				errs[i] = Guarded(func() error { return f(int(i)) })
			}
		})
	}
	group.Wait()
	return errs
}

// Guarded turns a panic into an error.
func Guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the provider panicked, which is a bug of it: %v", p)
		}
	}()
	return f()
}

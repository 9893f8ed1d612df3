package resource

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Each calls f for 0 to n-1, at most so many at once.
func Each(n, most int, f func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, most) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	group.Wait()
}

// Together is [Each] for what can fail: the errors are in the order of the calls. A panic
// is the error of its call: one bad resource never stops the others.
func Together(n, most int, f func(i int) error) []error {
	errs := make([]error, n)
	Each(n, most, func(i int) {
		errs[i] = Guarded(func() error { return f(i) })
	})
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

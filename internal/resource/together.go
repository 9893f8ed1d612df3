package resource

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Each calls f for 0 to n-1, with at most most concurrent calls, and waits for all of them.
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

// Together is [Each] for functions that can fail. The errors are in the order of the calls. A panic
// becomes the error of its call, so one bad resource never stops the others.
func Together(n, most int, f func(i int) error) []error {
	errs := make([]error, n)
	Each(n, most, func(i int) {
		errs[i] = Guarded(func() error { return f(i) })
	})
	return errs
}

// Guarded calls f and turns a panic into an error.
func Guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the provider panicked (a bug in the provider): %v", p)
		}
	}()
	return f()
}

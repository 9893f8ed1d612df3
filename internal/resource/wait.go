package resource

import (
	"context"
	"time"
)

// Wait waits for d or until ctx is done. In the second case it returns the error of ctx.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

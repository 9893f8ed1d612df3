package nodeagent

import "time"

// NextRenewal is when a Lease that lasts that long is renewed after n attempts, of which
// the last ones failed.
func NextRenewal(lasts time.Duration, n, failures int, random float64) time.Duration {
	return nextRenewal(lasts, n, failures, random)
}

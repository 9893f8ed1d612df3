package lease_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/nodeagent/lease"
)

// TestLeaseRenewalsSpreadAfterAPIServerOutage counts the requests of 5,000 agents around an outage of five minutes.
func TestLeaseRenewalsSpreadAfterAPIServerOutage(t *testing.T) {
	t.Parallel()

	const (
		agents     = 5000
		lasts      = time.Minute
		away, back = 200 * time.Second, 500 * time.Second
		end        = 800 * time.Second
		quiet      = agents / 40 // requests per second in normal operation
	)
	random := rand.New(rand.NewPCG(1, 2))
	asked := map[time.Duration]int{} // by second
	var latest time.Duration         // first success of the last agent
	for range agents {
		n, failures, returned := 0, 0, false
		for at := lease.NextRenewal(lasts, 0, 0, random.Float64()); at < end; at += lease.NextRenewal(lasts, n, failures, random.Float64()) {
			n++
			asked[at.Truncate(time.Second)]++
			failures++
			if at < away || at >= back {
				failures = 0
			}
			if at >= back && !returned {
				latest, returned = max(latest, at), true
			}
		}
	}
	most := map[string]int{}
	for at, n := range asked {
		switch {
		case at >= back:
			most["when it is back"] = max(most["when it is back"], n)
		case at >= away:
			most["while it is away"] = max(most["while it is away"], n)
		case at >= 2*lasts:
			most["when all is well"] = max(most["when all is well"], n)
		}
	}
	if n := most["when all is well"]; n > 3*quiet/2 {
		t.Errorf("agents that start together send %d requests in one second, want about %d", n, quiet)
	}
	if n := most["when it is back"]; n > 2*quiet {
		t.Errorf("after the outage agents send %d requests in one second, %d in normal operation", n, quiet)
	}
	if n := most["while it is away"]; n > 3*quiet {
		t.Errorf("during the outage agents send %d requests in one second, %d in normal operation", n, quiet)
	}
	if took := latest - back; took > lasts {
		t.Errorf("the last agent renewed after %s, after its Lease expired", took)
	}
}

func TestLeaseRenewalAllowsOneRetry(t *testing.T) {
	t.Parallel()

	const lasts, longest = time.Minute, 0.999999
	first := lease.NextRenewal(lasts, 9, 0, longest)
	if second := lease.NextRenewal(lasts, 10, 1, longest); first+second > lasts {
		t.Errorf("attempts after %s and %s, but the Lease expires after %s", first, second, lasts)
	}
}

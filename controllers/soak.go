package controllers

import (
	"time"

	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
)

// noticed is more than the time in which the manager notices that a Lease has expired.
const noticed = 30 * time.Second

// LeastSoak returns how long nodes have to soak at least if their agents' Leases last for a time: an agent that a change silences is silent
// before the change counts as proven there. It is 0 for Leases of the default duration or less, for which the API demands enough of policies.
func LeastSoak(lease time.Duration) time.Duration {
	if lease <= heartbeat.DefaultLeaseDuration {
		return 0
	}
	return lease + noticed
}

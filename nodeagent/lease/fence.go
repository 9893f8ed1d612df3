package lease

import (
	"errors"
	"sync"
	"time"
)

// A Fence tells whether the manager takes the agent for alive, so that no other node acts for its resources of Remote types.
// It is open from when the agent has confirmed what it is to do until its Lease expires. The zero value is closed. Safe for concurrent use.
type Fence struct {
	mu    sync.Mutex
	until time.Time
	open  bool
}

// ErrFenced is why the agent does not act for resources of Remote types.
var ErrFenced = errors.New("the agent's Lease has expired, so another node may act for this resource: it waits until the API server answers")

// Renewed notes that a renewal that was sent at a time succeeded, and reports whether the fence is open. If the Lease had
// expired before, the fence stays closed until Confirm.
func (f *Fence) Renewed(sent, now time.Time, lasts time.Duration) (open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = f.open && now.Before(f.until)
	f.until = sent.Add(lasts)
	return f.open
}

// Confirm opens the fence unless the Lease has expired: the agent knows the state of its NodeCatalog after the last renewal.
func (f *Fence) Confirm(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = now.Before(f.until)
}

// Check returns ErrFenced if the fence is closed.
func (f *Fence) Check(now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open && now.Before(f.until) {
		return nil
	}
	return ErrFenced
}

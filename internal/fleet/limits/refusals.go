package limits

import (
	"maps"
	"sync"
	"time"
)

// Refusals remember, by node, writes that the API server rejected, such as an object that is
// too large. Each is retried with a backoff of its own, or at once when what is to be written
// changes, and delays no other node.
type Refusals struct {
	mu     sync.Mutex
	byNode map[string]refusal
}

type refusal struct {
	content  string // identifies what was to be written
	err      string
	attempts int
	retry    time.Time
}

const firstBackoff, maxBackoff = 2 * time.Second, 30 * time.Second

// Refused notes a rejected write, and reports whether it is the first in a row.
func (r *Refusals) Refused(node, content string, err error, now time.Time) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byNode == nil {
		r.byNode = map[string]refusal{}
	}
	attempts := r.byNode[node].attempts
	backoff := min(firstBackoff<<min(attempts, 10), maxBackoff)
	r.byNode[node] = refusal{content, err.Error(), attempts + 1, now.Add(backoff)}
	return attempts == 0
}

// Accepted forgets the rejected writes of a node.
func (r *Refusals) Accepted(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byNode, node)
}

// BackingOff reports whether content was rejected and is not due for a retry.
func (r *Refusals) BackingOff(node, content string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	is, refused := r.byNode[node]
	return refused && is.content == content && now.Before(is.retry)
}

// Error returns the API server's last error for a node, "" if it accepted the last write.
func (r *Refusals) Error(node string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byNode[node].err
}

// Retain forgets nodes for which exists is false, and returns the number of the others.
func (r *Refusals) Retain(exists func(node string) bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.byNode, func(node string, _ refusal) bool { return !exists(node) })
	return len(r.byNode)
}

// Next returns the time until the next retry, at least 1, or 0 if there is none.
func (r *Refusals) Next(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var next Wait
	for _, is := range r.byNode {
		next.Add(max(is.retry.Sub(now), 1))
	}
	return time.Duration(next)
}

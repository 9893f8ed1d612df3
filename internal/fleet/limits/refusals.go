package limits

import (
	"maps"
	"time"
)

// Refusals remember, by node, writes that the API server rejected, such as an object that is
// too large. Each is retried with a backoff of its own, or at once when what is to be written
// changes, and delays no other node. They are not safe for concurrent use.
type Refusals map[string]refusal // by node

type refusal struct {
	content  string // identifies what was to be written
	err      string
	attempts int
	retry    time.Time
}

const firstBackoff, maxBackoff = 2 * time.Second, 30 * time.Second

// Refused notes a rejected write, and reports whether it is the first in a row.
func (r Refusals) Refused(node, content string, err error, now time.Time) (first bool) {
	attempts := r[node].attempts
	backoff := min(firstBackoff<<min(attempts, 10), maxBackoff)
	r[node] = refusal{content, err.Error(), attempts + 1, now.Add(backoff)}
	return attempts == 0
}

// Accepted forgets the rejected writes of a node.
func (r Refusals) Accepted(node string) {
	delete(r, node)
}

// BackingOff reports whether content was rejected and is not due for a retry.
func (r Refusals) BackingOff(node, content string, now time.Time) bool {
	is, refused := r[node]
	return refused && is.content == content && now.Before(is.retry)
}

// Error returns the API server's last error for a node, "" if it accepted the last write.
func (r Refusals) Error(node string) string {
	return r[node].err
}

// Retain forgets nodes for which exists is false, and returns the number of the others.
func (r Refusals) Retain(exists func(node string) bool) int {
	maps.DeleteFunc(r, func(node string, _ refusal) bool { return !exists(node) })
	return len(r)
}

// Next returns the time until the next retry, at least 1, or 0 if there is none.
func (r Refusals) Next(now time.Time) time.Duration {
	var next Wait
	for _, is := range r {
		next.Add(max(is.retry.Sub(now), 1))
	}
	return time.Duration(next)
}

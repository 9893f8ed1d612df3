package nodeagent

import (
	"sync"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A mailbox contains only the newest NodeCatalog. It is safe for concurrent use.
type mailbox struct {
	ready chan struct{} // of capacity one; receives when there is something to take

	mu      sync.Mutex
	newest  *v1alpha1.NodeCatalog
	retried bool // see takeRetry
}

func (m *mailbox) put(nc *v1alpha1.NodeCatalog) {
	m.mu.Lock()
	m.retried = m.retried || isRetried(m.newest, nc)
	m.newest = nc
	m.mu.Unlock()
	m.notify()
}

// notify makes ready receive, also if the newest NodeCatalog was taken.
func (m *mailbox) notify() {
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// take returns the newest object.
func (m *mailbox) take() *v1alpha1.NodeCatalog {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.newest
}

// takeRetry reports whether somebody has asked for another try of a rollout since the last call. The newest object may not show it any
// more, because the manager removes the annotation.
func (m *mailbox) takeRetry() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	retried := m.retried
	m.retried = false
	return retried
}

// isRetried reports whether an object asks for another try of a rollout, and the one before it did not.
func isRetried(before, now *v1alpha1.NodeCatalog) bool {
	revision := now.Annotations[v1alpha1.AnnotationRetryRollout]
	return before != nil && revision != "" && revision != before.Annotations[v1alpha1.AnnotationRetryRollout]
}

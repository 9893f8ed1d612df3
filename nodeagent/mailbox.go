package nodeagent

import (
	"sync"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A mailbox contains only the newest NodeCatalog. It is safe for concurrent use.
type mailbox struct {
	ready chan struct{} // of capacity one; receives when there is something to take

	mu     sync.Mutex
	newest *v1alpha1.NodeCatalog
}

func (m *mailbox) put(nc *v1alpha1.NodeCatalog) {
	m.mu.Lock()
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

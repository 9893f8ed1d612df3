package limits

import (
	"sync"
	"time"
)

// A Spacing keeps a minimum time between two writes of one key: a wave of nodes that report
// becomes a few writes of a resource's status.
type Spacing[K comparable] struct {
	mu   sync.Mutex
	last map[K]time.Time
}

const minSpacing = 5 * time.Second

// Wrote notes a write.
func (s *Spacing[K]) Wrote(key K, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[K]time.Time{}
	}
	s.last[key] = now
}

// Left returns the time until a key may be written, 0 for now.
func (s *Spacing[K]) Left(key K, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last[key]
	if left := last.Add(minSpacing).Sub(now); ok && left > 0 {
		return left
	}
	delete(s.last, key)
	return 0
}

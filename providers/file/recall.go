package file

import "sync"

// A memory has the sums of contents that were read from elsewhere, so that a content of
// which its server says nothing but that it is the same is not brought again. It lasts as
// long as the process. The zero value is ready, and safe for concurrent use.
type memory struct {
	mu   sync.Mutex
	sums map[remembered]string
}

type remembered struct{ url, algorithm, version string }

// maxRemembered bounds the memory; who has more sources has some of them brought again.
const maxRemembered = 10_000

// recall is "" for what is not known.
func (m *memory) recall(r remembered) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sums[r]
}

// remember takes nothing of what has no version.
func (m *memory) remember(r remembered, sum string) {
	if r.version == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sums == nil || len(m.sums) >= maxRemembered {
		m.sums = map[remembered]string{}
	}
	m.sums[r] = sum
}

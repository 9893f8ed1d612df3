package source

import "sync"

// A sumCache has the checksums of downloaded contents, so that a content is not
// downloaded again if its server announces no checksum but the same version. It lasts as
// long as the process. The zero value is ready, and safe for concurrent use.
type sumCache struct {
	mu   sync.Mutex
	sums map[sumKey]string
}

type sumKey struct{ url, algorithm, version string }

// maxSums bounds the cache. A full cache is cleared.
const maxSums = 10_000

// get returns "" for an unknown checksum.
func (c *sumCache) get(key sumKey) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sums[key]
}

// put ignores a content without a version.
func (c *sumCache) put(key sumKey, sum string) {
	if key.version == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sums == nil || len(c.sums) >= maxSums {
		c.sums = map[sumKey]string{}
	}
	c.sums[key] = sum
}

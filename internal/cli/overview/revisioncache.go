package overview

import (
	"context"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/internal/cli/revision"
)

// A RevisionCache finds out again and again what nodes wait for. Revisions never change, so it reads each once, and forgets them
// when the cluster has one of them no more. It is safe for concurrent use.
type RevisionCache struct {
	mu   sync.Mutex
	read *revisionReader
}

// RevisionCache returns a cache that is empty.
func (c *Client) RevisionCache() *RevisionCache { return &RevisionCache{read: c.revisions()} }

// Waits finds out what nodes wait for: see [WaitsOf].
func (c *RevisionCache) Waits(ctx context.Context, policies []Policy, kept []string, nodes []Node) (Waits, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.read.contents {
		if !slices.Contains(kept, name) { // the others are read again, because they share Catalogs with it
			c.read = c.read.revisions()
			break
		}
	}
	return WaitsOf(policies, kept, nodes, func(name string) (revision.Content, error) { return c.read.content(ctx, name) })
}

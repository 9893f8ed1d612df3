package resource

import (
	"context"
	"sync"
)

// calm is what was read in a stretch of a run in which nothing was written.
type calm struct {
	mu   sync.Mutex
	read map[any]*reading
}

type reading struct {
	mu    sync.Mutex
	done  bool
	value any
}

type calmKey struct{}

// Calm is a context for reads between which nothing is written: what many resources
// look up, as the accounts of the host, is looked up once. See [Once].
func Calm(ctx context.Context) context.Context {
	return context.WithValue(ctx, calmKey{}, &calm{read: map[any]*reading{}})
}

// Once returns what read returned when it was first asked for by this key in a context
// that is [Calm]; in any other it reads. A failure is not kept. Keys are told apart as a
// context's are, so each package uses a type of its own. Safe for concurrent use.
func Once[T any](ctx context.Context, key any, read func() (T, error)) (T, error) {
	c, ok := ctx.Value(calmKey{}).(*calm)
	if !ok {
		return read()
	}
	r := c.of(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done {
		value, err := read()
		if err != nil {
			return value, err
		}
		r.value, r.done = value, true
	}
	return r.value.(T), nil
}

func (c *calm) of(key any) *reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.read[key]
	if !ok {
		r = &reading{}
		c.read[key] = r
	}
	return r
}

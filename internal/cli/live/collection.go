package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// A source lists and watches objects of one kind.
type source interface {
	List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// A collection keeps the objects of one kind, in the form of T. It is a store of a reflector.
type collection[T any] struct {
	convert func(any) (T, error)
	changed func() // is called after each change
	start   sync.Once

	mu     sync.Mutex
	byName map[string]T // nil until they were listed
	sorted []T          // by name; nil after a change
	err    error        // of the last request, or of an object that cannot be read
}

// watch keeps the collection up to date until ctx ends. Only the first call does anything.
func (c *collection[T]) watch(ctx context.Context, expected runtime.Object, from source) {
	c.start.Do(func() {
		lw := &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				list, err := from.List(ctx, opts)
				return list, c.recordResult(err)
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				w, err := from.Watch(ctx, opts)
				return w, c.recordResult(err)
			},
		}
		// The page shows errors; the reflector's log would mix with the output of the command.
		quiet := klog.NewContext(ctx, logr.Discard())
		go cache.NewReflectorWithOptions(lw, expected, c, cache.ReflectorOptions{}).RunWithContext(quiet)
	})
}

// recordResult records the result of a request.
func (c *collection[T]) recordResult(err error) error {
	c.mu.Lock()
	same := fmt.Sprint(c.err) == fmt.Sprint(err)
	c.err = err
	c.mu.Unlock()
	if !same {
		c.changed()
	}
	return err
}

// all returns the objects by name. The caller must not change them. The error is ErrReading before they were listed, or why
// they are not up to date; in that case the last known ones are returned, too.
func (c *collection[T]) all() ([]T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.inOrder(), c.err
	}
	if c.byName == nil {
		return nil, ErrReading
	}
	return c.inOrder(), nil
}

func (c *collection[T]) inOrder() []T {
	if c.sorted == nil {
		c.sorted = make([]T, 0, len(c.byName))
		for _, name := range slices.SortedFunc(maps.Keys(c.byName), strings.Compare) {
			c.sorted = append(c.sorted, c.byName[name])
		}
	}
	return c.sorted
}

func (c *collection[T]) update(change func() error) error {
	c.mu.Lock()
	err := change()
	c.sorted = nil
	c.mu.Unlock()
	c.changed()
	return err
}

func (c *collection[T]) put(obj any) error {
	o, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	t, err := c.convert(obj)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", o.GetName(), err)
	}
	c.byName[o.GetName()] = t
	return nil
}

// Add implements [cache.ReflectorStore].
func (c *collection[T]) Add(obj any) error {
	return c.update(func() error {
		if c.byName == nil {
			c.byName = map[string]T{}
		}
		return c.put(obj)
	})
}

// Update implements [cache.ReflectorStore].
func (c *collection[T]) Update(obj any) error { return c.Add(obj) }

// Delete implements [cache.ReflectorStore].
func (c *collection[T]) Delete(obj any) error {
	return c.update(func() error {
		o, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		delete(c.byName, o.GetName())
		return nil
	})
}

// Replace implements [cache.ReflectorStore].
func (c *collection[T]) Replace(all []any, _ string) error {
	return c.update(func() error {
		c.byName = make(map[string]T, len(all))
		for _, obj := range all {
			if err := c.put(obj); err != nil {
				return err
			}
		}
		return nil
	})
}

// Resync implements [cache.ReflectorStore]. There is nothing to do.
func (c *collection[T]) Resync() error { return nil }

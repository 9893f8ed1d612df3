package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/expression"
)

// evaluations are what a when or a template came to on nodes. Nodes that agree in all that it reads share one. It is
// not safe for concurrent use.
type evaluations[R any] struct {
	uses expression.Uses
	// run evaluates for a node in at most some time; took is what it took. It fails with expression.ErrCutOff alone:
	// any other failure is a result.
	run func(n *subject, time int) (result R, took int, err error)

	byKey  map[string]*evaluation[R]
	byNode map[string]*evaluation[R]
	took   int        // by all that some node has
	todo   []*subject // nodes that have none yet
}

type evaluation[R any] struct {
	key    string
	result R
	took   int
	nodes  int // that have it
}

// drop forgets a node.
func (e *evaluations[R]) drop(node string) {
	was := e.byNode[node]
	if was == nil {
		return
	}
	delete(e.byNode, node)
	if was.nodes--; was.nodes == 0 {
		e.took -= was.took
		delete(e.byKey, was.key)
	}
}

// advance evaluates until no node is left, or the evaluations take more than a limit together: which of the two does
// not depend on the order of nodes. It reports whether they are within the limit.
func (e *evaluations[R]) advance(limit int) bool {
	for len(e.todo) > 0 && e.took <= limit {
		n := e.todo[0]
		key := n.key(e.uses)
		known := e.byKey[key]
		if known == nil {
			result, took, err := e.run(n, limit-e.took)
			if err != nil {
				return false
			}
			known = &evaluation[R]{key: key, result: result, took: took}
		}
		e.add(n.Name, known)
		e.todo = e.todo[1:]
	}
	return e.took <= limit
}

func (e *evaluations[R]) add(node string, to *evaluation[R]) {
	if e.byNode == nil {
		e.byKey, e.byNode = map[string]*evaluation[R]{}, map[string]*evaluation[R]{}
	}
	if to.nodes++; to.nodes == 1 {
		e.byKey[to.key] = to
		e.took += to.took
	}
	e.byNode[node] = to
}

// of returns what came of a node that they were told of, and are within their limit.
func (e *evaluations[R]) of(n *subject) R { return e.byNode[n.Name].result }

// forget drops all nodes.
func (e *evaluations[R]) forget() {
	e.byKey, e.byNode, e.took, e.todo = nil, nil, 0, nil
}

// spent is what they took.
func (e *evaluations[R]) spent() int { return e.took }

// The limits of a key: of its paths, and of a text that is part of it, in bytes.
const (
	maxPaths = 32
	maxKey   = 128
)

// key is the same for nodes that agree in all the values at paths. Where these are many, long, a list or a map, it is
// of this node alone.
func (n *subject) key(paths expression.Uses) string {
	if len(paths) > maxPaths {
		return wholeKey(n)
	}
	var b strings.Builder
	for _, path := range paths {
		if len(path) > 0 && path[0] == "node" {
			b.WriteString(nodeKey(n, path[1:]))
		} else {
			b.WriteString(factKey(n, path))
		}
		b.WriteByte(0)
	}
	return b.String()
}

func nodeKey(n *subject, path []string) string {
	switch {
	case len(path) == 2 && path[0] == "labels":
		return labelKey(n, n.Labels, path[1])
	case len(path) == 2 && path[0] == "annotations":
		return labelKey(n, n.Annotations, path[1])
	}
	return wholeKey(n)
}

func labelKey(n *subject, of map[string]string, key string) string {
	value, ok := of[key]
	if len(value) > maxKey {
		return wholeKey(n)
	}
	return fmt.Sprintf("%t %q", ok, value)
}

func factKey(n *subject, path []string) string {
	var value any = n.variables()
	for depth, name := range path {
		in, ok := value.(map[string]any)
		if !ok {
			return wholeKey(n)
		}
		if value, ok = in[name]; !ok {
			return fmt.Sprintf("none at %d", depth)
		}
	}
	switch value := value.(type) {
	case string:
		if len(value) <= maxKey {
			return fmt.Sprintf("%q", value)
		}
	case bool, float64, int64, int, nil:
		return fmt.Sprintf("%T %v", value, value)
	}
	return wholeKey(n)
}

// wholeKey is of this node alone. A node that changes is dropped, and evaluated again.
func wholeKey(n *subject) string { return "node " + n.Name }

// isCutOff reports whether an evaluation ended because its time was short.
func isCutOff(err error) bool { return errors.Is(err, expression.ErrCutOff) }

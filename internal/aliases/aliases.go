// Package aliases bounds what the aliases of YAML expand to.
//
// Parsers bound how many values aliases repeat, but not how long these are: 20,000 aliases of one long text are a few KiB that
// become gigabytes as soon as they are written out, such as in JSON. Check a document before it is decoded.
package aliases

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// A document may expand to Factor times its size, and Free bytes more. So the memory for any number of documents is in proportion
// to their size.
const (
	Factor = 16
	Free   = 4 << 10
)

// Expanded returns the size of a document with its aliases written out, in bytes, approximately. Of several documents it is that of
// the first. The error is for the author: the aliases expand too far, or this is no YAML.
func Expanded(document []byte) (int, error) {
	if bytes.IndexByte(document, '&') < 0 || bytes.IndexByte(document, '*') < 0 {
		return len(document), nil // it has no anchor, or nothing that refers to one
	}
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return 0, err
	}
	m := measure{limit: Factor*len(document) + Free, sizes: map[*yaml.Node]int{}}
	size, err := m.of(&root)
	if err != nil {
		return 0, err
	}
	return max(size, len(document)), nil
}

// Check returns the error of Expanded.
func Check(document []byte) error {
	_, err := Expanded(document)
	return err
}

var errCycle = errors.New("an anchor contains an alias of itself: write the value out")

// A measure adds up sizes to a limit.
type measure struct {
	limit int
	sizes map[*yaml.Node]int // of nodes with an anchor; 0 while they are measured
}

// of returns the size of a node. An anchor precedes its aliases, so that each node is visited once.
func (m *measure) of(n *yaml.Node) (int, error) {
	if n.Kind == yaml.AliasNode {
		if size := m.sizes[n.Alias]; size > 0 {
			return size, nil
		}
		return 0, errCycle
	}
	if n.Anchor != "" {
		m.sizes[n] = 0
	}
	total := len(n.Value) + 1 // and a separator
	for _, c := range n.Content {
		size, err := m.of(c)
		if err != nil {
			return 0, err
		}
		if total += size; total > m.limit {
			return 0, fmt.Errorf("its aliases expand to more than %d KiB, %d times the size of the document: repeat less, or use several documents", m.limit>>10, Factor)
		}
	}
	if n.Anchor != "" {
		m.sizes[n] = total
	}
	return total, nil
}

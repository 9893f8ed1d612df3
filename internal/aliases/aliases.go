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

// A Size is that of a document, approximately.
type Size struct {
	Bytes   int
	Entries int // of lists and maps
}

func (s *Size) add(more Size) {
	s.Bytes += more.Bytes
	s.Entries += more.Entries
}

// Written returns the size of a document as it is written, without parsing it. It has no more entries than that, but
// may have fewer: punctuation in texts counts.
func Written(document []byte) Size {
	size := Size{Bytes: len(document)}
	for i, c := range document {
		switch c {
		case ',', ':', '[', '{':
			size.Entries++
		case '-', '?':
			if i+1 == len(document) || bytes.IndexByte([]byte(" \t\r\n"), document[i+1]) >= 0 {
				size.Entries++
			}
		}
	}
	return size
}

// Expanded returns the size of a document with its aliases written out. Of several documents it is that of the first. The error is for
// the author: the aliases expand too far, or this is no YAML.
func Expanded(document []byte) (Size, error) {
	written := Written(document)
	if bytes.IndexByte(document, '&') < 0 || bytes.IndexByte(document, '*') < 0 {
		return written, nil // it has no anchor, or nothing that refers to one
	}
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return Size{}, err
	}
	m := measure{limit: Factor*len(document) + Free, sizes: map[*yaml.Node]Size{}}
	size, err := m.of(&root)
	if err != nil {
		return Size{}, err
	}
	return Size{max(size.Bytes, written.Bytes), max(size.Entries, written.Entries)}, nil
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
	sizes map[*yaml.Node]Size // of nodes with an anchor; 0 while they are measured
}

// of returns the size of a node. An anchor precedes its aliases, so that each node is visited once.
func (m *measure) of(n *yaml.Node) (Size, error) {
	if n.Kind == yaml.AliasNode {
		if size := m.sizes[n.Alias]; size.Bytes > 0 {
			return size, nil
		}
		return Size{}, errCycle
	}
	if n.Anchor != "" {
		m.sizes[n] = Size{}
	}
	total := Size{Bytes: len(n.Value) + 1, Entries: len(n.Content)} // and a separator
	for _, c := range n.Content {
		size, err := m.of(c)
		if err != nil {
			return Size{}, err
		}
		if total.add(size); total.Bytes > m.limit {
			return Size{}, fmt.Errorf("its aliases expand to more than %d KiB, %d times the size of the document: repeat less, or use several documents", m.limit>>10, Factor)
		}
	}
	if n.Anchor != "" {
		m.sizes[n] = total
	}
	return total, nil
}

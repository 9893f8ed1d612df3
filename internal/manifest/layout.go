package manifest

import (
	"bytes"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// A layout finds the lines of fields in a document. It is parsed only for documents with faults. The zero layout
// finds none.
type layout struct {
	root  *yaml.Node
	above int // lines of the file before the document
}

func layoutOf(p part) layout {
	var doc yaml.Node
	if yaml.Unmarshal(p.text, &doc) != nil || len(doc.Content) == 0 {
		return layout{}
	}
	return layout{doc.Content[0], p.line - 1}
}

// padded returns the text after empty lines, so that a parser counts lines from the beginning of the file.
func (p part) padded() []byte {
	return append(bytes.Repeat([]byte("\n"), p.line-1), p.text...)
}

// line returns the line of a field, or of its nearest existing parent; 0 if unknown.
func (l layout) line(path string) int {
	if l.root == nil {
		return 0
	}
	at, line := l.root, l.root.Line
	for _, step := range steps(path) {
		key, value := child(at, step)
		if value == nil {
			break
		}
		at, line = value, key.Line
	}
	return l.above + line
}

// child returns an entry of a mapping or list, nil if there is none. For a list, the key is
// the entry itself.
func child(of *yaml.Node, step string) (key, value *yaml.Node) {
	if of.Kind == yaml.AliasNode {
		return child(of.Alias, step)
	}
	if of.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(of.Content); i += 2 {
			if of.Content[i].Value == step {
				return of.Content[i], of.Content[i+1]
			}
		}
	}
	if of.Kind == yaml.SequenceNode {
		if n, err := strconv.Atoi(step); err == nil && n >= 0 && n < len(of.Content) {
			return of.Content[n], of.Content[n]
		}
	}
	return nil, nil
}

// duplicates returns the duplicate keys below a path.
func (l layout) duplicates(path string) []placed {
	if l.root == nil {
		return nil
	}
	at := l.root
	for _, step := range steps(path) {
		if _, at = child(at, step); at == nil {
			return nil
		}
	}
	return l.duplicatesBelow(at, "", maxDepth)
}

// A placed flaw has a line.
type placed struct {
	flaw
	line int
}

// duplicatesBelow looks at so many levels. Documents with more are refused anyway.
func (l layout) duplicatesBelow(n *yaml.Node, path string, levels int) []placed {
	if levels == 0 {
		return nil
	}
	var all []placed
	first := map[string]int{}
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			all = append(all, l.duplicatesBelow(c, fmt.Sprintf("%s[%d]", path, i), levels-1)...)
		case n.Kind == yaml.MappingNode && i%2 == 0:
			name := joined(path, c.Value)
			if line, again := first[c.Value]; again {
				all = append(all, placed{flaw{name, fmt.Sprintf("duplicate field, first in line %d: remove one", l.above+line)}, l.above + c.Line})
			} else {
				first[c.Value] = c.Line
			}
			all = append(all, l.duplicatesBelow(n.Content[i+1], name, levels-1)...)
		}
	}
	return all
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

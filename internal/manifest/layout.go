package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A layout finds the lines of fields in a document. It is parsed only for documents with faults. The zero layout
// finds none.
type layout struct {
	root  *yaml.Node
	above int                           // lines of the file before the document
	keys  map[*yaml.Node]map[string]int // of mappings that were looked into: where the first of each key is
}

func layoutOf(p part) layout {
	var doc yaml.Node
	if yaml.Unmarshal(p.text, &doc) != nil || len(doc.Content) == 0 {
		return layout{}
	}
	return layout{doc.Content[0], p.line - 1, map[*yaml.Node]map[string]int{}}
}

// A Locator finds the lines of references. It keeps the last document that it looked into. The zero value is ready for use, by one
// goroutine at a time.
type Locator struct {
	of     part
	layout layout
}

// Line returns the line of a reference in an attribute of a resource's spec, such as require; or the line where the resource begins if
// the attribute does not have it.
func (l *Locator) Line(d Document, attribute string, ref v1alpha1.ResourceRef) int {
	if l.of.file != d.file || l.of.line != d.begin || l.of.text == nil {
		l.of = part{d.file, d.begin, d.text}
		l.layout = layoutOf(l.of)
	}
	return cmp.Or(l.layout.lineOf(joined(d.item, "spec."+attribute), string(ref)), d.line)
}

// lineOf returns the line of an element of a list; 0 if the list does not have it.
func (l layout) lineOf(list, element string) int {
	at := l.node(list)
	if at == nil || at.Kind != yaml.SequenceNode {
		return 0
	}
	for _, n := range at.Content {
		if n.Kind == yaml.AliasNode && n.Alias.Value == element || n.Value == element {
			return l.above + n.Line
		}
	}
	return 0
}

// node returns the value of a field, nil if it does not exist.
func (l layout) node(path string) *yaml.Node {
	at := l.root
	for _, step := range steps(path) {
		if at == nil {
			return nil
		}
		_, at = l.child(at, step)
	}
	if at != nil && at.Kind == yaml.AliasNode {
		return at.Alias
	}
	return at
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
		key, value := l.child(at, step)
		if value == nil {
			break
		}
		at, line = value, key.Line
	}
	return l.above + line
}

// child returns an entry of a mapping or list, nil if there is none. For a list, the key is
// the entry itself.
func (l layout) child(of *yaml.Node, step string) (key, value *yaml.Node) {
	if of.Kind == yaml.AliasNode {
		return l.child(of.Alias, step)
	}
	if of.Kind == yaml.MappingNode {
		if i, there := l.keysOf(of)[step]; there {
			return of.Content[i], of.Content[i+1]
		}
	}
	if of.Kind == yaml.SequenceNode {
		if n, err := strconv.Atoi(step); err == nil && n >= 0 && n < len(of.Content) {
			return of.Content[n], of.Content[n]
		}
	}
	return nil, nil
}

// keysOf returns where the keys of a mapping are.
func (l layout) keysOf(mapping *yaml.Node) map[string]int {
	keys, known := l.keys[mapping]
	if !known {
		keys = make(map[string]int, len(mapping.Content)/2)
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			if _, again := keys[mapping.Content[i].Value]; !again {
				keys[mapping.Content[i].Value] = i
			}
		}
		l.keys[mapping] = keys
	}
	return keys
}

// duplicates returns the first duplicate keys below a path, more than maxFieldErrors only if there are.
func (l layout) duplicates(path string) []locatedError {
	at := l.node(path)
	if at == nil {
		return nil
	}
	found := search{above: l.above}
	found.below(at, "", maxDepth)
	return found.all
}

// A locatedError is a fieldError with its line.
type locatedError struct {
	fieldError
	line int
}

// A search finds duplicate keys, until there are more than maxFieldErrors.
type search struct {
	above int // lines of the file before the document
	all   []locatedError
}

// below looks at so many levels. Documents with more are refused anyway.
func (s *search) below(n *yaml.Node, path string, levels int) {
	first := map[string]int{}
	for i, c := range n.Content {
		switch {
		case levels == 0 || len(s.all) > maxFieldErrors:
			return
		case n.Kind == yaml.SequenceNode:
			s.below(c, fmt.Sprintf("%s[%d]", path, i), levels-1)
		case n.Kind == yaml.MappingNode && i%2 == 0:
			name := joined(path, c.Value)
			if line, again := first[c.Value]; again {
				s.all = append(s.all, locatedError{fieldError{name, fmt.Sprintf("duplicate field, first in line %d: remove one", s.above+line)}, s.above + c.Line})
			} else {
				first[c.Value] = c.Line
			}
			s.below(n.Content[i+1], name, levels-1)
		}
	}
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

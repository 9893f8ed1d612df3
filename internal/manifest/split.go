package manifest

import (
	"bytes"
	"fmt"
)

// A part is one document of a file, as it was written.
type part struct {
	source string
	text   []byte
}

// split takes a file apart, as a reader of kubectl's does but without a copy. What cannot
// be taken apart ends it with an error.
func split(name string, text []byte) ([]part, error) {
	var parts []part
	for n := 1; len(text) > 0; n++ {
		source := name
		if n > 1 {
			source = fmt.Sprintf("%s (document %d)", name, n)
		}
		doc, rest, err := cut(text)
		if err != nil {
			return parts, fmt.Errorf("%s: %w", name, err)
		}
		parts = append(parts, part{source, doc})
		text = rest
	}
	return parts, nil
}

// cut ends a document at the next line of three hyphens, which may have a comment. At the
// beginning of the document it is part of it.
func cut(text []byte) (doc, rest []byte, err error) {
	for at := 0; at < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if behind, ok := bytes.CutPrefix(text[at:end], []byte("---")); ok {
			if said := bytes.TrimSpace(behind); len(said) > 0 && said[0] != '#' {
				return nil, nil, fmt.Errorf("%q follows ---: put it on a line of its own", said)
			}
			if at > 0 {
				return text[:at], text[end:], nil
			}
		}
		at = end
	}
	return text, nil, nil
}

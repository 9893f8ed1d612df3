package manifest

import (
	"bytes"
	"fmt"
)

// A part is one document of a file.
type part struct {
	file string
	line int    // of the file, where text begins; from 1
	text []byte // as it was written
}

// split takes a file apart as kubectl does, without copying it. Where that fails the error
// says why, and the parts are those before.
func split(file string, text []byte) ([]part, error) {
	var parts []part
	for line := 1; len(text) > 0; {
		doc, rest, err := cut(text)
		if err != nil {
			return parts, err
		}
		parts = append(parts, part{file, line, doc})
		line += bytes.Count(text[:len(text)-len(rest)], []byte("\n"))
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

// begins is the line of a document's first content, from 0, and whether it has any: comments
// are none.
func begins(doc []byte) (line int, ok bool) {
	for text := range bytes.Lines(doc) {
		if l := bytes.TrimSpace(text); len(l) > 0 && l[0] != '#' && string(l) != "---" {
			return line, true
		}
		line++
	}
	return line, false
}

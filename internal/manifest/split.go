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

// split splits a file into documents like kubectl, without copying. After an error, it returns the parts
// before it.
func split(file string, text []byte) ([]part, error) {
	var parts []part
	for line := 1; len(text) > 0; {
		doc, rest, err := nextDocument(text)
		if err != nil {
			return parts, err
		}
		parts = append(parts, part{file, line, doc})
		line += bytes.Count(text[:len(text)-len(rest)], []byte("\n"))
		text = rest
	}
	return parts, nil
}

// nextDocument returns the text up to the next line with three hyphens, which may have a comment. At the
// beginning, that line is part of the document.
func nextDocument(text []byte) (doc, rest []byte, err error) {
	for at := 0; at < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if behind, ok := bytes.CutPrefix(text[at:end], []byte("---")); ok {
			if said := bytes.TrimSpace(behind); len(said) > 0 && said[0] != '#' {
				return nil, nil, fmt.Errorf("%q follows ---: put it on its own line", said)
			}
			if at > 0 {
				return text[:at], text[end:], nil
			}
		}
		at = end
	}
	return text, nil, nil
}

// firstContent returns the line where a document's content begins, from 0, and whether it has any besides
// comments.
func firstContent(doc []byte) (line int, ok bool) {
	for text := range bytes.Lines(doc) {
		if l := bytes.TrimSpace(text); len(l) > 0 && l[0] != '#' && string(l) != "---" {
			return line, true
		}
		line++
	}
	return line, false
}

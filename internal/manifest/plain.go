package manifest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// plain makes JSON of a document in the plain style that most manifests are written
// in: mappings in block style of simple keys, and of words, whole numbers, strings in
// double quotes without escapes, literal blocks and {}. It is many times quicker than a
// parser of all YAML and never guesses: of anything else, down to a comment, it says
// that it is not ok.
func plain(doc []byte) (raw []byte, ok bool) {
	if len(doc) == 0 || doc[len(doc)-1] != '\n' || !printable(doc) {
		return nil, false
	}
	p := plainReader{rest: doc, out: make([]byte, 0, len(doc)+len(doc)/8)}
	p.next()
	if p.line == nil || p.indent != 0 || !p.mapping(0) || p.line != nil {
		return nil, false
	}
	return p.out, true
}

func printable(doc []byte) bool {
	for _, b := range doc {
		if (b < ' ' || b > '~') && b != '\n' {
			return false
		}
	}
	return true
}

// plainReader stands before a line that is not empty; line is nil behind the last one.
type plainReader struct {
	rest, line []byte // line is without its indentation and end
	indent     int
	out        []byte
}

// step goes on to the next line, which may be empty.
func (p *plainReader) step() {
	if len(p.rest) == 0 {
		p.line, p.indent = nil, 0
		return
	}
	line, rest, _ := bytes.Cut(p.rest, []byte("\n"))
	p.rest = rest
	p.indent = len(line) - len(bytes.TrimLeft(line, " "))
	p.line = line[p.indent:]
}

// next goes on to the next line that is not empty.
func (p *plainReader) next() {
	for p.step(); p.empty(); p.step() {
	}
}

// empty is not one that has spaces: what those mean depends on where they are.
func (p *plainReader) empty() bool { return p.line != nil && len(p.line) == 0 && p.indent == 0 }

// mapping reads the lines of one indentation and all below them.
func (p *plainReader) mapping(indent int) bool {
	var seen [][]byte
	p.out = append(p.out, '{')
	for p.line != nil && p.indent == indent {
		key, value, found := bytes.Cut(p.line, []byte(":"))
		if !found || !isKey(key) || slices.ContainsFunc(seen, func(k []byte) bool { return bytes.Equal(k, key) }) {
			return false
		}
		if len(seen) > 0 {
			p.out = append(p.out, ',')
		}
		seen = append(seen, key)
		p.out = append(append(append(p.out, '"'), key...), '"', ':')
		if !p.value(indent, value) {
			return false
		}
	}
	p.out = append(p.out, '}')
	return p.indent < indent || p.line == nil
}

// value reads what follows a key and its colon.
func (p *plainReader) value(indent int, text []byte) bool {
	switch {
	case len(text) == 0:
		p.next()
		return p.line != nil && p.indent > indent && p.mapping(p.indent)
	case text[0] != ' ':
		return false
	}
	text = bytes.TrimLeft(text, " ")
	if string(text) == "|" {
		return p.literal(indent)
	}
	if !p.scalar(text) {
		return false
	}
	p.next()
	return p.line == nil || p.indent <= indent // it would go on there
}

func (p *plainReader) scalar(text []byte) bool {
	switch {
	case string(text) == "true", string(text) == "false", string(text) == "{}", plainNumber.Match(text):
		p.out = append(p.out, text...)
	case quoted.Match(text):
		p.out = append(p.out, text...)
	case word.Match(text) && !reserved(text):
		p.quote(text)
	default:
		return false
	}
	return true
}

// literal reads a block after |.
func (p *plainReader) literal(indent int) bool {
	p.step()
	if len(p.line) == 0 || p.indent <= indent {
		return false
	}
	p.quote(p.block(p.indent))
	return p.line == nil || len(p.line) > 0 && p.indent <= indent
}

// block reads lines of an indentation or more. It ends with one line end, whatever empty
// lines follow.
func (p *plainReader) block(indent int) []byte {
	var text []byte
	empty := 0
	for ; p.empty() || len(p.line) > 0 && p.indent >= indent; p.step() {
		if p.empty() {
			empty++
			continue
		}
		text = append(text, strings.Repeat("\n", empty)...)
		text = append(text, strings.Repeat(" ", p.indent-indent)...)
		text = append(append(text, p.line...), '\n')
		empty = 0
	}
	return text
}

func (p *plainReader) quote(text []byte) {
	p.out = append(p.out, '"')
	for _, b := range text {
		switch b {
		case '"', '\\':
			p.out = append(p.out, '\\', b)
		case '\n':
			p.out = append(p.out, '\\', 'n')
		default:
			p.out = append(p.out, b)
		}
	}
	p.out = append(p.out, '"')
}

var (
	plainNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)
	quoted      = regexp.MustCompile(`^"[^"\\]*"$`)
	word        = regexp.MustCompile(`^[A-Za-z/]([A-Za-z0-9/._ -]*[A-Za-z0-9/._-])?$`)
	simple      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)
)

func isKey(key []byte) bool { return simple.Match(key) && !reserved(key) }

// reserved are the words that some YAML takes for something else.
func reserved(text []byte) bool {
	if len(text) > len("false") {
		return false
	}
	return slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(string(text)))
}

package manifest

import (
	"bytes"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// plain makes JSON of a document in the plain style that most manifests are written
// in: mappings in block style of simple keys, and of words, whole numbers, strings in
// double quotes without escapes, literal blocks and {}. It is many times quicker than a
// parser of all YAML and never guesses: of anything else, down to a comment, it says
// that it is not ok. what is the object's apiVersion and kind, where it has them. raw
// takes the place of scratch if it fits.
func plain(doc, scratch []byte) (raw []byte, what metav1.TypeMeta, ok bool) {
	if len(doc) == 0 || doc[len(doc)-1] != '\n' || !printable(doc) {
		return nil, what, false
	}
	p := plainReader{rest: doc, out: slices.Grow(scratch[:0], len(doc)+len(doc)/8)}
	p.next()
	if p.line == nil || p.indent != 0 || !p.mapping(0) || p.line != nil {
		return nil, what, false
	}
	return p.out, p.what, true
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
	what       metav1.TypeMeta
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
	seen := make([][]byte, 0, 8)
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
		start := len(p.out)
		if !p.value(indent, value) {
			return false
		}
		if indent == 0 {
			p.note(string(key), p.out[start:])
		}
	}
	p.out = append(p.out, '}')
	return p.indent < indent || p.line == nil
}

// note keeps what the object is. A word or a string in plain style has no escapes.
func (p *plainReader) note(key string, value []byte) {
	if value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return
	}
	switch text := string(value[1 : len(value)-1]); key {
	case "apiVersion":
		p.what.APIVersion = text
	case "kind":
		p.what.Kind = text
	}
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
	case string(text) == "true", string(text) == "false", string(text) == "{}", isNumber(text):
		p.out = append(p.out, text...)
	case isQuoted(text):
		p.out = append(p.out, text...)
	case isWord(text) && !reserved(text):
		p.out = append(append(append(p.out, '"'), text...), '"')
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
	p.out = append(p.out, '"')
	p.block(p.indent)
	p.out = append(p.out, '"')
	return p.line == nil || len(p.line) > 0 && p.indent <= indent
}

// block reads lines of an indentation or more. It ends with one line end, whatever empty
// lines follow.
func (p *plainReader) block(indent int) {
	empty := 0
	for ; p.empty() || len(p.line) > 0 && p.indent >= indent; p.step() {
		if p.empty() {
			empty++
			continue
		}
		for range empty {
			p.out = append(p.out, `\n`...)
		}
		for range p.indent - indent {
			p.out = append(p.out, ' ')
		}
		p.escape(p.line)
		p.out = append(p.out, `\n`...)
		empty = 0
	}
}

func (p *plainReader) escape(line []byte) {
	for len(line) > 0 {
		i := bytes.IndexAny(line, `"\`)
		if i < 0 {
			break
		}
		p.out = append(append(p.out, line[:i]...), '\\', line[i])
		line = line[i+1:]
	}
	p.out = append(p.out, line...)
}

// isNumber is for those that no parser takes for anything else.
func isNumber(text []byte) bool {
	digits := len(text) > 0 && len(text) <= 9 && !slices.ContainsFunc(text, func(b byte) bool { return !isDigit(b) })
	return digits && (text[0] != '0' || len(text) == 1)
}

func isQuoted(text []byte) bool {
	last := len(text) - 1
	return last > 0 && text[0] == '"' && text[last] == '"' && !bytes.ContainsAny(text[1:last], `"\`)
}

// isWord is for words, names and paths.
func isWord(text []byte) bool {
	if len(text) == 0 || !isLetter(text[0]) && text[0] != '/' || text[len(text)-1] == ' ' {
		return false
	}
	return !slices.ContainsFunc(text, func(b byte) bool {
		return !isLetter(b) && !isDigit(b) && strings.IndexByte("/._- ", b) < 0
	})
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func isKey(key []byte) bool {
	if len(key) == 0 || len(key) > 63 || !isLetter(key[0]) || reserved(key) {
		return false
	}
	return !slices.ContainsFunc(key, func(b byte) bool { return !isLetter(b) && !isDigit(b) })
}

// reserved are the words that some YAML takes for something else.
func reserved(text []byte) bool {
	if len(text) > len("false") {
		return false
	}
	return slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(string(text)))
}

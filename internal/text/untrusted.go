// Package text prepares text for people: it escapes what comes from a host or an author,
// and words numbers.
//
// Names, messages and diffs hold whatever a local user could put into a file name, an
// account or the output of a command. [Line] and [Block] make them safe to print: every
// terminal, log, event and status goes through one of the two. [Encode] makes them safe to
// keep: JSON holds no text but UTF-8, and an encoder would replace anything else.
package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line is s as part of one line. Letters, marks, numbers, punctuation, symbols and spaces of
// all scripts stay. Anything else becomes an escape as in a Go string: control characters,
// line ends and tabs among them (\n, \x1b, \u009b), what reorders or hides text (\u202e,
// \u200b), and bytes that are not UTF-8 (\xff). A backslash stays, so the result is for
// reading only, and Line of it is the same again.
func Line(s string) string { return escape(s, visible) }

// Block is Line for a text of several lines, such as a diff: line feeds and tabs stay.
func Block(s string) string {
	return escape(s, func(r rune) bool { return visible(r) || r == '\n' || r == '\t' })
}

func visible(r rune) bool {
	return ' ' <= r && r <= '~' || r > '~' && unicode.IsGraphic(r)
}

func escape(s string, stays func(rune) bool) string {
	if clean(s, stays) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case stays(r):
			b.WriteString(s[i : i+size])
		default:
			b.WriteString(escaped(r))
		}
		i += size
	}
	return b.String()
}

func clean(s string, stays func(rune) bool) bool {
	for i, r := range s {
		if !stays(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return false
		}
	}
	return true
}

// escaped is a character in ASCII.
func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xFFFF:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Error is the message of an error, with those that were joined behind one another instead
// of a line each. It is not escaped.
func Error(err error) string { return strings.Join(Errors(err), "; ") }

// Errors are the messages of the errors that were joined, or the one of any other error. They
// are not escaped.
func Errors(err error) []string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	var all, lines []string
	for _, e := range joined.Unwrap() {
		all, lines = append(all, Errors(e)...), append(lines, e.Error())
	}
	if err.Error() != strings.Join(lines, "\n") { // it has words of its own
		return []string{err.Error()}
	}
	return all
}

// codes are what Encode writes: a byte beyond ASCII, and the backslash.
var codes = regexp.MustCompile(`\\x([89a-f][0-9a-f]|5c)`)

// Encode is s as UTF-8, from which [Decode] gets s back: each byte that is not part of a
// character becomes \x and its two lower-case hexadecimal digits, \x80 to \xff, and where s
// itself has such a code, or \x5c, its backslash becomes \x5c. Nearly every text stays as it is,
// and no two become the same.
func Encode(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, `\x`) {
		return s
	}
	s = codes.ReplaceAllString(s, `\x5cx$1`)
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// Decode is the text that Encode was given.
func Decode(s string) string {
	return codes.ReplaceAllStringFunc(s, func(code string) string {
		var b byte
		if _, err := fmt.Sscanf(code, `\x%02x`, &b); err != nil {
			return code // the expression matches digits only
		}
		return string([]byte{b})
	})
}

// EncodeAll is a copy of a value such as a JSON decoder makes, in which all texts are encoded,
// keys among them.
func EncodeAll(v any) any {
	switch v := v.(type) {
	case string:
		return Encode(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = EncodeAll(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[Encode(k)] = EncodeAll(e)
		}
		return out
	}
	return v
}

// EscapeJSON is JSON with the same values in which all that Line would escape is written
// as \u and four digits, as JSON has it, so that it can be printed.
func EscapeJSON(raw []byte) []byte {
	return escapeUnseen(raw, func(r rune) string {
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
		return b.String()
	})
}

// EscapeYAML is EscapeJSON for who reads the JSON as YAML, which has no pairs of \u.
func EscapeYAML(raw []byte) []byte {
	return escapeUnseen(raw, func(r rune) string {
		if r > 0xFFFF {
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

func escapeUnseen(raw []byte, escaped func(rune) string) []byte {
	safe := func(r rune) bool { return visible(r) || r == '\n' }
	if clean(string(raw), safe) {
		return raw
	}
	var b strings.Builder
	for _, r := range string(raw) {
		if safe(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(escaped(r))
		}
	}
	return []byte(b.String())
}

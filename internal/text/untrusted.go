// Package text prepares text for display: it escapes untrusted text, truncates it, and formats counts
// and lists.
//
// Names, messages and diffs can contain anything that a local user can put into a file name, an
// account or the output of a command. [Line] and [Block] make them safe to print; everything that is
// written to a terminal, log, event or status must pass through one of them. [Encode] makes them safe
// to store, because JSON strings must be UTF-8 and encoders replace other bytes.
package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line escapes s for use within a line. Letters, marks, numbers, punctuation, symbols and spaces of all
// scripts are unchanged. All other characters are escaped as in a Go string: control characters such
// as line ends and tabs (\n, \x1b, \u009b), characters that reorder or hide text (\u202e, \u200b), and
// bytes that are not UTF-8 (\xff). Backslashes are unchanged, so the result cannot be decoded, and Line
// is idempotent.
func Line(s string) string { return escape(s, visible) }

// Block is Line for text with several lines, such as a diff: line feeds and tabs are unchanged.
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

// escaped returns the escape of a character, in ASCII.
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

// Error returns the message of an error in one line. The messages of joined errors are separated by
// semicolons. It is not escaped.
func Error(err error) string { return strings.Join(Errors(err), "; ") }

// Errors returns the messages of joined errors, or the message of any other error, each in one line.
// They are not escaped.
func Errors(err error) []string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{unfold(err.Error())}
	}
	var all, lines []string
	for _, e := range joined.Unwrap() {
		all, lines = append(all, Errors(e)...), append(lines, e.Error())
	}
	if err.Error() != strings.Join(lines, "\n") { // the message is not just that of the joined errors
		return []string{unfold(err.Error())}
	}
	return all
}

// unfold puts the lines of a message into one, separated by semicolons. Libraries indent lists, and commands their output.
func unfold(message string) string {
	if !strings.Contains(message, "\n") {
		return message
	}
	var b strings.Builder
	for line := range strings.Lines(message) {
		line = strings.Trim(line, " \t\r\n")
		switch s := b.String(); {
		case line == "":
			continue
		case s == "":
		case strings.ContainsRune(".:;,?!", rune(s[len(s)-1])):
			b.WriteByte(' ')
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// codes matches the escapes that Encode writes: a byte beyond ASCII, or a backslash.
var codes = regexp.MustCompile(`\\x([89a-f][0-9a-f]|5c)`)

// Encode converts s to UTF-8, reversibly (see [Decode]). Each byte that is not part of a character
// becomes \x and two lower-case hexadecimal digits, \x80 to \xff. If s contains such an escape, or \x5c,
// its backslash becomes \x5c. Most strings are unchanged, and different strings stay different.
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

// Decode reverses Encode.
func Decode(s string) string {
	return codes.ReplaceAllStringFunc(s, func(code string) string {
		var b byte
		if _, err := fmt.Sscanf(code, `\x%02x`, &b); err != nil {
			return code // unreachable: the expression matches hexadecimal digits only
		}
		return string([]byte{b})
	})
}

// EncodeAll returns a copy of a decoded JSON value in which all strings, including keys, are encoded.
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

// EscapeJSON escapes JSON for display without changing its values: characters that Line would escape
// are written as \u and four digits.
func EscapeJSON(raw []byte) []byte {
	return escapeUnseen(raw, func(r rune) string {
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
		return b.String()
	})
}

// EscapeYAML is EscapeJSON for JSON that is read as YAML, which has no surrogate pairs.
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

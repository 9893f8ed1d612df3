package redact

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A view is a text made of another one: its byte i stands for the bytes from[i] to to[i] of the original.
type view struct {
	text     string
	from, to []int
}

// newView returns a view of a part of a text.
func newView(text string, start, end int) view {
	v := view{text: text[start:end], from: make([]int, end-start), to: make([]int, end-start)}
	for i := range v.from {
		v.from[i], v.to[i] = start+i, start+i+1
	}
	return v
}

// A writer makes a view of another one.
type writer struct {
	of       view
	text     []byte
	from, to []int
}

// newWriter returns a writer of a view that is hardly longer.
func newWriter(of view) *writer {
	w := &writer{of: of, text: make([]byte, 0, len(of.text)+utf8.UTFMax)}
	if of.from != nil { // otherwise only the text counts
		w.from, w.to = make([]int, 0, cap(w.text)), make([]int, 0, cap(w.text))
	}
	return w
}

// write adds a text that stands for a part of the view.
func (w *writer) write(text string, from, to int) {
	for i := range len(text) {
		w.writeByte(text[i], from, to)
	}
}

func (w *writer) writeByte(b byte, from, to int) {
	w.text = append(w.text, b)
	if w.of.from != nil {
		w.from, w.to = append(w.from, w.of.from[from]), append(w.to, w.of.to[to-1])
	}
}

func (w *writer) view() view { return view{text: string(w.text), from: w.from, to: w.to} }

// maxEscaped is how many encodings of characters are decoded of those that occur within each other, besides repetitions of the same.
const maxEscaped = 4

// decoded returns a view without escapes: those with backslashes of programming languages, JSON and shells, and those of URLs and XML. All
// are decoded, again and again, since secrets are decoded in the same way: of a\\nb, a\nb and a%0Ab the same remains.
func decoded(v view) view {
	for range maxEscaped {
		next := decodedOnce(v)
		if next.text == v.text {
			break
		}
		v = next
	}
	return v
}

func decodedOnce(v view) view {
	w := newWriter(v)
	for i := 0; i < len(v.text); {
		if !beginsEscape[v.text[i]] {
			w.writeByte(v.text[i], i, i+1)
			i++
			continue
		}
		if e, n := escapeAt(v.text[i:]); n > 0 {
			w.write(e, i, i+n)
			i += n
			continue
		}
		w.writeByte(v.text[i], i, i+1)
		i++
	}
	return w.view()
}

// beginsEscape has the bytes with which escapes begin. It is never changed.
var beginsEscape = [256]bool{'\\': true, '%': true, '&': true, 0xc2: true, 0xc3: true}

// escapeAt returns what the escape at the beginning of a text means, and its length; 0 if there is none.
func escapeAt(text string) (meaning string, n int) {
	switch text[0] {
	case 0xc2, 0xc3:
		return misreadAt(text)
	case '\\', '%':
		if raw, n := escapedBytes(text); n > 0 {
			return raw, n
		}
		if text[0] == '\\' {
			return backslashAt(text)
		}
	case '&':
		const longest = 12
		if end := strings.IndexByte(text[:min(len(text), longest)], ';'); end > 0 {
			if meaning := html.UnescapeString(text[:end+1]); meaning != text[:end+1] {
				return meaning, end + 1
			}
		}
	}
	return "", 0
}

// misreadAt returns characters whose bytes in UTF-8 were read as Latin-1.
func misreadAt(text string) (meaning string, n int) {
	var raw []byte
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if r < utf8.RuneSelf || r > unicode.MaxLatin1 || size == 1 {
			break
		}
		raw, n = append(raw, byte(r)), n+size
		if utf8.FullRune(raw) {
			break
		}
	}
	if r, size := utf8.DecodeRune(raw); r == utf8.RuneError || size != len(raw) {
		return "", 0
	}
	return string(raw), n
}

// escapedBytes decodes a sequence of escapes that stand for bytes. They are UTF-8 or else Latin-1.
func escapedBytes(text string) (meaning string, n int) {
	var raw []byte
	for {
		b, size := escapedByte(text[n:])
		if size == 0 {
			break
		}
		raw, n = append(raw, b), n+size
	}
	if utf8.Valid(raw) {
		return string(raw), n
	}
	var latin []rune
	for _, b := range raw {
		latin = append(latin, rune(b))
	}
	return string(latin), n
}

// escapedByte decodes %20, \x20 or \040, of which the backslash or 25 may be repeated.
func escapedByte(text string) (b byte, n int) {
	if m := escapedHex.FindStringSubmatchIndex(text); m != nil {
		value, err := strconv.ParseUint(text[m[2]:m[3]], 16, 8)
		return byte(value), valid(m[1], err)
	}
	if m := escapedOctal.FindStringSubmatchIndex(text); m != nil {
		value, err := strconv.ParseUint(text[m[2]:m[3]], 8, 8)
		return byte(value), valid(m[1], err)
	}
	return 0, 0
}

// These match escapes at the beginning of a text. They are never changed.
var (
	escapedHex   = regexp.MustCompile(`^(?:\\+[xX]|%(?:25)*)([0-9a-fA-F]{2})`)
	escapedOctal = regexp.MustCompile(`^\\+([0-3][0-7]{2})`)
	escapedPoint = regexp.MustCompile(`^(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[ux]\{([0-9a-fA-F]{1,8})\})`)
)

// valid returns a length, 0 if there is an error.
func valid(n int, err error) int {
	if err != nil {
		return 0
	}
	return n
}

// backslashAt decodes backslashes and what follows them: \n, \u00e9, \u{e9}, \x{e9}, \U000000e9, or the character itself.
func backslashAt(text string) (meaning string, n int) {
	rest := strings.TrimLeft(text, `\`)
	if rest == "" {
		return "", len(text)
	}
	slashes := len(text) - len(rest)
	if r, size := codePoint(rest); size > 0 {
		if utf16.IsSurrogate(r) {
			after := strings.TrimLeft(rest[size:], `\`)
			if low, more := codePoint(after); more > 0 && utf16.DecodeRune(r, low) != unicode.ReplacementChar {
				r, size = utf16.DecodeRune(r, low), len(rest)-len(after)+more
			}
		}
		return string(r), slashes + size
	}
	const letters, meanings = "nrtvfabeE0\n", "\n\r\t\v\f\a\b\x1b\x1b\x00"
	if at := strings.IndexByte(letters, rest[0]); at >= 0 {
		return meanings[at:min(at+1, len(meanings))], slashes + 1
	}
	_, size := utf8.DecodeRuneInString(rest)
	return rest[:size], slashes + size
}

// codePoint decodes u00e9, u{e9}, x{e9} or U000000e9.
func codePoint(text string) (r rune, n int) {
	m := escapedPoint.FindStringSubmatch(text)
	if m == nil {
		return 0, 0
	}
	value, err := strconv.ParseUint(m[1]+m[2]+m[3], 16, 32)
	if err != nil || value > unicode.MaxRune {
		return 0, 0
	}
	return rune(value), len(m[0])
}

// squeezed returns a view in which a secret equals itself, however it was quoted and wrapped: in lower case, without quotes and zero bytes, and
// with one blank for all white space and plus signs, which stand for blanks in URLs.
func squeezed(v view) view {
	w := newWriter(v)
	blank := true // no blank is needed
	for i, n := 0, 0; i < len(v.text); i += n {
		var r rune
		r, n = utf8.DecodeRuneInString(v.text[i:])
		switch {
		case r == '+' || unicode.IsSpace(r):
			if !blank {
				w.writeByte(' ', i, i+n)
			}
			blank = true
			continue
		case isDropped(r):
			continue
		case r < utf8.RuneSelf, n == 1:
			w.writeByte(lower(v.text[i]), i, i+n)
		default:
			w.write(string(unicode.ToLower(r)), i, i+n)
		}
		blank = false
	}
	return w.view()
}

// isDropped reports whether quoting adds or removes a character.
func isDropped(r rune) bool { return r == '\'' || r == '"' || r == '`' || r == '\\' || r == 0 }

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}

// lowerAll changes no byte beyond ASCII: a text need not be UTF-8.
func lowerAll(text string) string {
	all := []byte(text)
	for i, b := range all {
		all[i] = lower(b)
	}
	return string(all)
}

// lettersOf returns a view of letters and digits only, in which a secret equals itself, however it was divided: over lines, or into characters
// by a program that joins those of a text instead of texts.
func lettersOf(v view) view {
	w := newWriter(v)
	for i, r := range v.text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			w.write(string(r), i, i+utf8.RuneLen(r))
		}
	}
	return w.view()
}

// asciiOf returns a view without what is not ASCII, and without the question marks that some programs write instead.
func asciiOf(v view) view {
	w := newWriter(v)
	for i := range len(v.text) {
		if c := v.text[i]; c < utf8.RuneSelf && c != '?' {
			w.writeByte(v.text[i], i, i+1)
		}
	}
	return w.view()
}

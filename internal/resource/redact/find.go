package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A mask says which bytes of a text belong to secrets.
type mask struct {
	hidden   []bool
	withheld bool // all of them
	// end is where a secret begins that the end of a truncated text may have cut.
	end int
}

func (m *mask) hide(from, to int) {
	for i := from; i < to; i++ {
		m.hidden[i] = true
	}
}

// hideWords hides a part of a view, without a blank at its beginning or its end.
func (m *mask) hideWords(v view, from, to int) {
	if v.text[from] == ' ' {
		from++
	}
	if v.text[to-1] == ' ' {
		to--
	}
	m.hide(v.from[from], v.to[to-1])
}

// hideAll hides a text wherever it occurs in a view.
func (m *mask) hideAll(v view, secret string) {
	for at := 0; ; {
		next := strings.Index(v.text[at:], secret)
		if next < 0 {
			return
		}
		m.hide(v.from[at+next], v.to[at+next+len(secret)-1])
		at += next + 1 // they may overlap
	}
}

// text returns the beginning of the text with each run of hidden bytes replaced by [Mark].
func (m *mask) text(s string) string {
	if m.withheld {
		return Mark
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i + 1
		for end < len(s) && m.hidden[end] == m.hidden[i] {
			end++
		}
		if m.hidden[i] {
			b.WriteString(Mark)
		} else {
			b.WriteString(s[i:end])
		}
		i = end
	}
	return b.String()
}

// An extent says whether a text has its end.
type extent int

const (
	whole extent = iota
	truncated
)

// incompleteEscape matches what the end of a text may have left of an encoded character. It is never changed.
var incompleteEscape = regexp.MustCompile(`((%|\\+[xX])[89a-fA-F][0-9a-fA-F]|\\+[23][0-7]{2})*(\\+([xX][{]?[0-9a-fA-F]?|[uU][{]?[0-9a-fA-F]{0,7}|[0-7]{1,2}|u[dD][89abAB][0-9a-fA-F]{2}\\*)?|%[0-9a-fA-F]?|&[#a-zA-Z0-9]{0,8})?$`)

// marked searches a text for secrets.
func (s Secrets) marked(from string, is extent) *mask {
	m := &mask{hidden: make([]bool, len(from)), end: len(from)}
	for _, literal := range s.literals {
		for at := 0; ; {
			next := strings.Index(from[at:], literal)
			if next < 0 {
				break
			}
			m.hide(at+next, at+next+len(literal))
			at += next + 1 // they may overlap
		}
	}
	for _, class := range s.classes {
		for _, at := range class.FindAllStringIndex(from, -1) {
			m.hide(at[0], at[1])
		}
	}
	for start := 0; ; start += window - overlap {
		end := min(start+window, len(from))
		if end < len(from) {
			s.searchAll(m, newView(from, start, end), whole, maxNested)
			continue
		}
		s.searchAll(m, newView(from, start, end), is, maxNested)
		return m
	}
}

// A long text is searched in windows, because views take many times as much memory. What spans more than the overlap is found as it is, and
// by its parts.
const (
	window  = 32 << 10
	overlap = 4 << 10
)

// maxNested is how often a text may be encoded in digits, such as those of base64.
const maxNested = 2

// searchAll searches a view, and what the digits in it encode.
func (s Secrets) searchAll(m *mask, v view, is extent, nested int) {
	v = decoded(v)
	s.searchWords(m, v)
	plain := squeezed(v)
	s.search(m, plain, is)
	if s.beyond {
		s.search(m, asciiOf(plain), is)
	}
	if nested == 0 {
		return
	}
	if nested == maxNested {
		s.searchLetters(m, lettersOf(plain))
		s.search(m, squeezed(decoded(fromNumbers(v, 10))), is)
		s.search(m, squeezed(decoded(fromNumbers(v, 8))), is)
	}
	for _, d := range allDigits() {
		s.searchDigits(m, v, d, is, nested-1)
	}
}

// searchDigits searches what runs of digits encode.
func (s Secrets) searchDigits(m *mask, v view, d digits, is extent, nested int) {
	runs := d.runs(v.text)
	m.withheld = m.withheld || s.anyShort(d, v, runs)
	runs = slices.DeleteFunc(runs, func(run []int) bool { return len(run)*d.bits < minSecret*bitsOfByte })
	for first := 0; first < d.alignments() && len(runs) > 0; first++ {
		encoded := d.bytes(v, runs, first)
		s.searchAll(m, encoded, is, nested)
		for order := range 2 {
			if s.beyond || strings.Contains(encoded.text, "\x00") {
				s.search(m, squeezed(decoded(fromUTF16(encoded, order))), is)
			}
		}
	}
}

// search hides the secrets in a view that is decoded and comparable.
func (s Secrets) search(m *mask, v view, is extent) {
	for _, secret := range s.wholes {
		m.hideAll(v, secret)
		if n := cut(v.text, secret); is == truncated && n > 0 {
			m.end = min(m.end, v.from[len(v.text)-n])
		}
	}
	s.searchParts(m, v, s.lengths)
}

// searchLetters hides the secrets that are divided.
func (s Secrets) searchLetters(m *mask, v view) {
	for _, secret := range s.divided {
		m.hideAll(v, secret)
	}
	if len(s.divided) > 0 {
		s.searchParts(m, v, []int{part})
	}
}

// searchParts hides the parts of some lengths.
func (s Secrets) searchParts(m *mask, v view, lengths []int) {
	for at := range v.text {
		for _, n := range lengths {
			if at+n > len(v.text) {
				break
			}
			if _, ok := s.parts[keyOf(v.text[at:at+n])]; ok {
				m.hideWords(v, at, at+n)
			}
		}
	}
}

// cut returns the length of the longest suffix of a text that is a proper prefix of a secret.
func cut(text, secret string) int {
	for n := min(len(secret)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, secret[:n]) {
			return n
		}
	}
	return 0
}

// searchWords withholds a text with a short secret.
func (s Secrets) searchWords(m *mask, v view) {
	if len(s.short) == 0 || m.withheld {
		return
	}
	lower := lowerAll(v.text)
	for _, secret := range s.short {
		for at := 0; !m.withheld; {
			next := strings.Index(lower[at:], secret)
			if next < 0 {
				break
			}
			at += next
			m.withheld = isWord(lower, at, at+len(secret))
			at++
		}
	}
}

// isWord reports whether a part of a text is not a part of a longer word or number.
func isWord(text string, from, to int) bool {
	joins := func(a, b rune) bool {
		return unicode.IsLetter(a) && unicode.IsLetter(b) || unicode.IsDigit(a) && unicode.IsDigit(b)
	}
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	first, _ := utf8.DecodeRuneInString(text[from:to])
	last, _ := utf8.DecodeLastRuneInString(text[from:to])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return !joins(before, first) && !joins(last, after)
}

// anyShort reports whether a run of digits encodes nothing but a short secret.
func (s Secrets) anyShort(d digits, v view, runs [][]int) bool {
	if len(s.short) == 0 {
		return false
	}
	return slices.ContainsFunc(runs, func(run []int) bool {
		text := strings.ReplaceAll(lowerAll(d.bytes(v, [][]int{run}, 0).text), "\x00", "")
		return slices.ContainsFunc(s.short, func(secret string) bool { return strings.TrimSpace(secret) == strings.TrimSpace(text) })
	})
}

package text

import "unicode/utf8"

// Clip is the beginning of s, at most n bytes and an ellipsis. It does not cut a character in
// two, and leaves bytes that are not UTF-8 as they are.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	start := n // of the character at n
	for start > max(0, n-utf8.UTFMax+1) && !utf8.RuneStart(s[start]) {
		start--
	}
	if _, size := utf8.DecodeRuneInString(s[start:]); start+size > n {
		n = start
	}
	return s[:n] + "..."
}

// ClipFront is the end of s, an ellipsis and at most n bytes. It does not cut a character in
// two, and leaves bytes that are not UTF-8 as they are.
func ClipFront(s string, n int) string {
	if len(s) <= n {
		return s
	}
	first := len(s) - n
	for start := max(0, first-utf8.UTFMax+1); start < first; start++ {
		if _, size := utf8.DecodeRuneInString(s[start:]); start+size > first {
			first = start + size
			break
		}
	}
	return "..." + s[first:]
}

// TrimIncomplete is s without the first bytes of a character whose others are missing at the
// end, as where a stream was cut off.
func TrimIncomplete(s string) string {
	for start := len(s) - 1; start >= max(0, len(s)-utf8.UTFMax+1); start-- {
		if !utf8.FullRuneInString(s[start:]) {
			return s[:start]
		}
	}
	return s
}

package text

import (
	"strings"
	"unicode/utf8"
)

const ellipsis = "..."

// Clip shortens s to at most n bytes: its beginning and an ellipsis, or all of s if that fits. n is at
// least 3. It never splits a character, and leaves bytes that are not UTF-8 unchanged.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len(ellipsis)
	start := n // of the character at n
	for start > max(0, n-utf8.UTFMax+1) && !utf8.RuneStart(s[start]) {
		start--
	}
	if _, size := utf8.DecodeRuneInString(s[start:]); start+size > n {
		n = start
	}
	return s[:n] + ellipsis
}

// FirstLine returns the first line of s that is not blank and an ellipsis for the others, or all of s if there are none.
func FirstLine(s string) string {
	first, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if !more {
		return s
	}
	return strings.TrimRight(first, " \t\r") + ellipsis
}

// ClipFront is Clip that retains the end of s: an ellipsis and the last bytes.
func ClipFront(s string, n int) string {
	if len(s) <= n {
		return s
	}
	first := len(s) - (n - len(ellipsis))
	for start := max(0, first-utf8.UTFMax+1); start < first; start++ {
		if _, size := utf8.DecodeRuneInString(s[start:]); start+size > first {
			first = start + size
			break
		}
	}
	return ellipsis + s[first:]
}

// ClipMiddle is Clip that retains both ends of s, with an ellipsis between them: of an error, what failed and why.
func ClipMiddle(s string, n int) string {
	if len(s) <= n {
		return s
	}
	first := strings.TrimSuffix(Clip(s, (n+len(ellipsis))/2), ellipsis)
	return first + ClipFront(s, n-len(first))
}

// TrimIncomplete removes the first bytes of a character whose other bytes are missing at the end
// of s, as where a stream was cut off.
func TrimIncomplete(s string) string {
	for start := len(s) - 1; start >= max(0, len(s)-utf8.UTFMax+1); start-- {
		if !utf8.FullRuneInString(s[start:]) {
			return s[:start]
		}
	}
	return s
}

package text

import "unicode/utf8"

// Clip is the beginning of s, at most n bytes and an ellipsis. It does not cut a character
// in two.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

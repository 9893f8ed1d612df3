// Package debversion compares the versions of Debian packages, and matches them with ranges.
//
// The order is dpkg's own (deb-version(7)). It is total on all texts, so no version is invalid here.
// Versions that are written differently can be equal, such as 1.0 and 0:1.0-0.
package debversion

import (
	"cmp"
	"strings"
)

// Compare is negative if a is older than b, positive if it is newer, and 0 if they are
// the same version.
func Compare(a, b string) int {
	epochA, upstreamA, revisionA := split(a)
	epochB, upstreamB, revisionB := split(b)
	return cmp.Or(numbers(epochA, epochB), compare(upstreamA, upstreamB), compare(revisionA, revisionB))
}

// split returns the parts of a version. A missing part is "", which is equal to 0.
func split(version string) (epoch, upstream, revision string) {
	epoch, rest, found := strings.Cut(version, ":")
	if !found {
		epoch, rest = "", version
	}
	if i := strings.LastIndexByte(rest, '-'); i >= 0 {
		return epoch, rest[:i], rest[i+1:]
	}
	return epoch, rest, ""
}

// compare alternates between runs of non-digits and runs of digits.
func compare(a, b string) int {
	for a != "" || b != "" {
		var textA, textB, numberA, numberB string
		textA, a = run(a, false)
		textB, b = run(b, false)
		numberA, a = run(a, true)
		numberB, b = run(b, true)
		if c := cmp.Or(texts(textA, textB), numbers(numberA, numberB)); c != 0 {
			return c
		}
	}
	return 0
}

// run cuts off the longest prefix of digits, or of non-digits.
func run(s string, digits bool) (beginning, rest string) {
	i := 0
	for i < len(s) && isDigit(s[i]) == digits {
		i++
	}
	return s[:i], s[i:]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// numbers can have any length, so they are compared as texts: without leading zeros, the longer one
// is greater.
func numbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func texts(a, b string) int {
	for i := range max(len(a), len(b)) {
		if c := cmp.Compare(weight(a, i), weight(b, i)); c != 0 {
			return c
		}
	}
	return 0
}

// weight orders characters: a tilde is less than the end, which is less than letters, which are less
// than anything else.
func weight(s string, i int) int {
	switch {
	case i >= len(s):
		return 0
	case s[i] == '~':
		return -1
	case 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z':
		return int(s[i])
	default:
		return int(s[i]) + 256
	}
}

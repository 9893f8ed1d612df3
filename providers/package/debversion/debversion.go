// Package debversion orders the versions of Debian packages, and tells which are in a
// range.
//
// The order is dpkg's own (deb-version(7)): it is total on all texts, so nothing is
// refused here. Versions that are written differently can be equal, as 1.0 and 0:1.0-0.
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

// split takes a version apart. What is missing is "", which is as good as 0.
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

// compare takes turns between a run of anything but digits and a run of digits.
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

// run cuts off the longest beginning that is all digits, or has none.
func run(s string, digits bool) (beginning, rest string) {
	i := 0
	for i < len(s) && isDigit(s[i]) == digits {
		i++
	}
	return s[:i], s[i:]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// numbers can be of any length, so they stay texts: without zeros in front, the longer
// one is the greater.
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

// weight is what a character counts: a tilde less than the end, which is less than
// letters, which are less than all else.
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

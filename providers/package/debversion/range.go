package debversion

import (
	"fmt"
	"regexp"
	"strings"
)

// A Range is the versions within bounds. The zero value has all versions.
type Range struct{ bounds []bound }

// A bound is an operator and its version.
type bound struct{ operator, version string }

// IsRange reports whether a text begins with an operator, and so is a range.
func IsRange(text string) bool { return strings.IndexAny(text, "<>=") == 0 }

// ParseRange parses one or two bounds separated by a space, such as ">=1.0 <2.0". The operators are
// >, >=, <, <= and =. An empty range is an error.
func ParseRange(text string) (Range, error) {
	var r Range
	format := regexp.MustCompile(`^(<=|>=|<|>|=)([A-Za-z0-9][A-Za-z0-9.+~:_-]*)$`)
	for word := range strings.SplitSeq(text, " ") {
		parts := format.FindStringSubmatch(word)
		if parts == nil || len(r.bounds) == 2 {
			return Range{}, fmt.Errorf("%q is not a range of versions: use one or two bounds, such as >=1.0 <2.0", text)
		}
		r.bounds = append(r.bounds, bound{parts[1], parts[2]})
	}
	if r.empty() {
		return Range{}, fmt.Errorf("no version is in the range %q: swap its bounds", text)
	}
	return r, nil
}

// empty reports whether the bounds exclude each other.
func (r Range) empty() bool {
	for _, low := range r.bounds {
		for _, high := range r.bounds {
			c := Compare(low.version, high.version)
			closed := strings.HasSuffix(low.operator, "=") && strings.HasSuffix(high.operator, "=")
			if low.operator[0] != '<' && high.operator[0] != '>' && (c > 0 || c == 0 && !closed) {
				return true
			}
		}
	}
	return false
}

// Has reports whether a version is in the range.
func (r Range) Has(version string) bool {
	for _, b := range r.bounds {
		if !b.allows(Compare(version, b.version)) {
			return false
		}
	}
	return true
}

// allows decides by the result of comparing a version with the bound.
func (b bound) allows(c int) bool {
	if c == 0 {
		return strings.HasSuffix(b.operator, "=")
	}
	return b.operator[0] == '<' && c < 0 || b.operator[0] == '>' && c > 0
}

// Newest returns the newest of the versions in the range, "" if there is none.
func (r Range) Newest(versions []string) string {
	newest := ""
	for _, v := range versions {
		if r.Has(v) && (newest == "" || Compare(v, newest) > 0) {
			newest = v
		}
	}
	return newest
}

package text

import (
	"fmt"
	"strings"
)

// maxListed is how many things List names.
const maxListed = 5

// List joins things with commas: "a, b, c, d, e and 2 more". It names at most five.
func List[T any](things []T) string { return ListOf(len(things), things) }

// ListOf is List for n things of which only the first are given.
func ListOf[T any](n int, first []T) string {
	names := make([]string, 0, maxListed)
	for _, thing := range first[:min(len(first), maxListed)] {
		names = append(names, fmt.Sprint(thing))
	}
	if more := n - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}

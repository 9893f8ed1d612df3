package text

import (
	"fmt"
	"strings"
)

// MaxListed is the maximum number of items that List names.
const MaxListed = 5

// List joins items with commas: "a, b, c, d, e and 2 more". It names at most five.
func List[T any](items []T) string { return ListOf(len(items), items) }

// ListOf is List for n items; items has only the first of them.
func ListOf[T any](n int, items []T) string {
	names := make([]string, 0, MaxListed)
	for _, item := range items[:min(len(items), MaxListed)] {
		names = append(names, fmt.Sprint(item))
	}
	if more := n - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}

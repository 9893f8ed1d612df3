package text

import "fmt"

// Count is a number and a noun whose plural ends in s: "1 resource", "2 resources".
func Count(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, noun) + Plural(n, "", "s")
}

// Plural returns one if n is 1, else many.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

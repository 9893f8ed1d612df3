package text

import "fmt"

// Count is "1 resource" or "2 resources", of a noun whose plural ends in s.
func Count(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, noun) + Plural(n, "", "s")
}

// Plural is the form of a word that goes with a number.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

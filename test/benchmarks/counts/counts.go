// Package counts has a flag for lists of sizes to measure.
package counts

import (
	"fmt"
	"strconv"
	"strings"
)

// A List is a [flag.Value] of counts such as 100,1000. Its previous value is the default.
type List []int

// String formats the number for tables.
func (l *List) String() string {
	var all []string
	for _, n := range *l {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, ",")
}

// Set replaces the list.
func (l *List) Set(text string) error {
	var all List
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("invalid count %q: use whole numbers separated by commas", part)
		}
		all = append(all, n)
	}
	*l = all
	return nil
}

// Package counts has the flag by which a measuring program is told how large to make what it measures.
package counts

import (
	"fmt"
	"strconv"
	"strings"
)

// A List is a [flag.Value] of counts, written as 100,1000. What it holds before is the default.
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
			return fmt.Errorf("%q is no count: write whole numbers with commas between them", part)
		}
		all = append(all, n)
	}
	*l = all
	return nil
}

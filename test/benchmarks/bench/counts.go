package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// Counts is a [flag.Value] of counts such as 100,1000. Its previous value is the default.
type Counts []int

// String formats the number for tables.
func (l *Counts) String() string {
	var all []string
	for _, n := range *l {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, ",")
}

// Set replaces the list.
func (l *Counts) Set(text string) error {
	var all Counts
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

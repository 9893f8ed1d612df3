package expression

import (
	"fmt"
	"regexp/syntax"
)

// maxPattern is how many instructions a regular expression may come to. A repetition counts for each turn.
const maxPattern = 1000

// regexCost is the cost of compiling a regular expression and matching text of some length, each match of which is
// replaced by so much. Go's matcher takes a time that is linear in both.
func regexCost(pattern string, text, replacement int) (Cost, error) {
	if len(pattern) > maxPattern {
		return Cost{}, errPattern(pattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return Cost{}, err
	}
	size := instructions(parsed)
	if size > maxPattern {
		return Cost{}, errPattern(pattern)
	}
	compile := Cost{Time: 20_000, Bytes: 4000}.Add(Cost{Time: 2000, Bytes: 1000}.times(size))
	match := Cost{Time: 25}.times(times(size+8, text+1)).Add(Cost{Time: 50, Bytes: 48}.times(text + 1))
	replace := Cost{Time: 4, Bytes: 4}.times(times(replacement, text+1))
	return compile.Add(match).Add(replace), nil
}

func errPattern(pattern string) error {
	return fmt.Errorf("regular expression %.60q is too large: it may come to %d instructions, and a repetition such as x{100} is 100 of them", pattern, maxPattern)
}

// instructions estimates what a regular expression compiles to, from above. It stops beyond maxPattern.
func instructions(r *syntax.Regexp) int {
	total := 1 + len(r.Rune)/64
	if r.Op == syntax.OpLiteral {
		total += len(r.Rune)
	}
	for _, sub := range r.Sub {
		total += instructions(sub)
	}
	if r.Op == syntax.OpRepeat {
		total *= max(r.Min, r.Max, 1) + 1
	}
	return min(total+1, maxPattern+1)
}

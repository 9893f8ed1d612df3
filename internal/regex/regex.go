// Package regex compiles regular expressions that authors write, within limits.
//
// Go's regexp matches in time linear in the pattern and the text. But a short pattern can be a large program, and parsing
// can take far longer than its length suggests: in a case-insensitive pattern, each range such as [\x{100}-\x{10000}] is
// folded one character at a time. All patterns of authors are compiled here, so the same limits apply to all of them.
package regex

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// The limits of a pattern.
const (
	MaxLength       = 1024      // in bytes
	MaxInstructions = 1000      // of the program that it compiles to; a repetition counts once for each time
	MaxParseTime    = 5_000_000 // in nanoseconds, as estimated
)

// Work is an upper bound of the work of compiling a pattern.
type Work struct {
	Instructions int // of the compiled program
	ParseTime    int // in nanoseconds
	ParseBytes   int // allocated while parsing
}

// Compile is [regexp.Compile] for patterns within the limits.
func Compile(pattern string) (*regexp.Regexp, error) {
	if _, err := Measure(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(pattern)
}

// Measure returns the work of a pattern, or an error if the pattern is invalid or exceeds a limit.
func Measure(pattern string) (Work, error) {
	if len(pattern) > MaxLength {
		return Work{}, fmt.Errorf("regular expression %.60q... is %d bytes long, and may be %d", pattern, len(pattern), MaxLength)
	}
	work := parseWork(pattern)
	if work.ParseTime > MaxParseTime {
		return Work{}, fmt.Errorf("regular expression %.60q is too costly: use fewer classes such as \\pL, and fewer ranges beyond ASCII with (?i)", pattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return Work{}, err
	}
	if work.Instructions = instructions(parsed); work.Instructions > MaxInstructions {
		return Work{}, fmt.Errorf("regular expression %.60q is too large: it may come to %d instructions, and a repetition such as x{100} is 100 of them", pattern, MaxInstructions)
	}
	return work, nil
}

// parseWork estimates the work of parsing from the text alone. Most bytes are cheap. Unicode classes are tables that are
// copied and sorted, and case folding takes one character at a time.
func parseWork(pattern string) Work {
	work := Work{ParseTime: 500 * len(pattern), ParseBytes: 256 * len(pattern)}
	classes := strings.Count(pattern, `\p`) + strings.Count(pattern, `\P`)
	if strings.Contains(pattern, `\x{`) || utf8.RuneCountInString(pattern) < len(pattern) {
		if strings.Contains(pattern, "(?") && strings.Contains(pattern, "i") {
			classes += 20 * strings.Count(pattern, "-")
		}
	}
	work.ParseTime += 100_000 * classes
	work.ParseBytes += 40_000 * classes
	return work
}

// instructions returns an upper bound of the size of the compiled program. It stops beyond MaxInstructions.
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
	return min(total+1, MaxInstructions+1)
}

package expression

import (
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/internal/regex"
)

// matchCost returns the cost of compiling a pattern and looking for one match in a text of some length.
func matchCost(pattern string, length int) (int, error) {
	work, err := regex.Measure(pattern)
	return compileCost(work) + times(stepCost(work, 0), length+1), err
}

// compileCost includes parsing the pattern twice: to measure it, and to compile it.
func compileCost(work regex.Work) int {
	return 2*(work.ParseTime+2*work.ParseBytes) + 28_000 + 4000*work.Instructions
}

// stepCost returns the cost of matching one character while the places of groups are recorded.
func stepCost(work regex.Work, groups int) int { return (25+groups)*(work.Instructions+8) + 150 }

// find compiles a pattern, and charges for its first n matches in a text, for all if n is negative.
func (b *budget) find(pattern, text string, n int) (*regexp.Regexp, error) {
	r, _, err := b.matches(pattern, text, n)
	return r, err
}

// replace compiles a pattern, and charges for replacing its matches in a text.
func (b *budget) replace(pattern, text, by string) (*regexp.Regexp, error) {
	r, found, err := b.matches(pattern, text, -1)
	if err != nil {
		return nil, err
	}
	length := len(text) + times(len(found), len(by))
	for _, at := range found {
		length += times(strings.Count(by, "$"), at[1]-at[0])
	}
	return r, b.charge(textCost(length))
}

// matches finds the matches that it charges for. To find one, the matcher may read the rest of the text. So it looks for
// twice as many matches each time, and charges before that.
func (b *budget) matches(pattern, text string, n int) (*regexp.Regexp, [][]int, error) {
	work, err := regex.Measure(pattern)
	if err == nil {
		err = b.charge(compileCost(work))
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := regexp.Compile(pattern)
	if err != nil {
		return nil, nil, err
	}
	groups := r.NumSubexp() + 2
	for most := 1; ; most *= 2 {
		if n >= 0 {
			most = min(most, n)
		}
		attempts := 4 * (most + 1) // here and by the caller, for an empty match two
		if err := b.charge(times(attempts, 1000+128*groups+times(stepCost(work, groups), len(text)+1))); err != nil {
			return nil, nil, err
		}
		found := r.FindAllStringIndex(text, most)
		if len(found) < most || most == n {
			return r, found, nil
		}
	}
}

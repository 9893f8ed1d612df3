package expression

import (
	"github.com/fettle-dev/fettle/internal/regex"
)

// regexCost is the cost of compiling a regular expression and looking for a match in text of some length. Go's
// matcher takes a time that is linear in both.
func regexCost(pattern string, text int) (Cost, error) {
	work, err := regex.Measure(pattern)
	if err != nil {
		return Cost{}, err
	}
	return compileCost(work).Add(stepCostOf(work, 0).times(text + 1)), nil
}

// compileCost is the cost of compiling a pattern, which is parsed twice: to measure it, and again.
func compileCost(work regex.Work) Cost {
	parse := Cost{Time: work.ParseTime, Bytes: work.ParseBytes}.times(2)
	return parse.Add(Cost{Time: 20_000, Bytes: 4000}).Add(Cost{Time: 2000, Bytes: 1000}.times(work.Instructions))
}

// stepCostOf is the cost of matching one character, with some groups whose places are noted.
func stepCostOf(work regex.Work, groups int) Cost {
	return Cost{Time: (25+groups)*(work.Instructions+8) + 50, Bytes: 48}
}

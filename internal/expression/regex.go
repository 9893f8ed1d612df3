package expression

import (
	"reflect"
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

// searchCost is for a pattern, a text, and the number of matches to look for, all if that is negative.
func (b *budget) searchCost(a []reflect.Value) (int, error) {
	_, err := b.matches(a[0].String(), a[1].String(), whole(a[2]))
	return callPrice, err
}

// searchAndReplaceCost is for a pattern, a text, and what replaces each match.
func (b *budget) searchAndReplaceCost(a []reflect.Value) (int, error) {
	text, by := a[1].String(), a[2].String()
	found, err := b.matches(a[0].String(), text, -1)
	length := len(text) + times(len(found), len(by))
	for _, at := range found {
		length += times(strings.Count(by, "$"), at[1]-at[0])
	}
	return callPrice + textCost(length), err
}

// matches returns the first n matches of a pattern in a text, all if n is negative. It charges for finding them, here and by
// the caller. To find one, the matcher may read the rest of the text. So it looks for twice as many matches each time, and
// charges before that.
func (b *budget) matches(pattern, text string, n int) ([][]int, error) {
	work, err := regex.Measure(pattern)
	if err == nil {
		err = b.charge(2 * compileCost(work))
	}
	if err != nil {
		return nil, err
	}
	r, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	groups := r.NumSubexp() + 2
	for most := 1; ; most *= 2 {
		if n >= 0 {
			most = min(most, n)
		}
		attempts := 4 * (most + 1) // for an empty match two, here and by the caller
		if err := b.charge(times(attempts, 1000+128*groups+times(stepCost(work, groups), len(text)+1))); err != nil {
			return nil, err
		}
		found := r.FindAllStringIndex(text, most)
		if len(found) < most || most == n {
			return found, nil
		}
	}
}

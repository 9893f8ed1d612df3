package expression

import (
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/internal/regex"
)

// A search finds all matches of a pattern in a text. To find the next one, the matcher may read on to the end of the
// text for a longer match that does not come, so finding all may take a time that is quadratic in the text. How much
// is read depends on the text: the search charges for each character when the matcher reads it.
type search struct {
	budget  *budget
	first   *regexp.Regexp // the pattern
	further *regexp.Regexp // the pattern as group 1, anywhere behind the first character
	step    Cost           // of a character
	found   Cost           // of a match
}

// newSearch compiles a pattern.
func newSearch(pattern string, b *budget) (*search, error) {
	work, err := regex.Measure(pattern)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	groups := parsed.MaxCap() + 2
	threads := Cost{Time: 1, Bytes: 16 * groups}.times(work.Instructions)
	if err := b.charge(compileCost(work).times(2).Add(threads)); err != nil {
		return nil, err
	}
	s := &search{budget: b, step: stepCostOf(work, groups), found: Cost{Time: 500, Bytes: 100 + 64*groups}}
	if s.first, err = regexp.Compile(pattern); err != nil {
		return nil, err
	}
	// ^ and \b look at the character before the place where the search goes on.
	if s.further, err = regexp.Compile(`\A(?s:.)(?s:.*?)(` + parsed.String() + `)`); err != nil {
		return nil, fmt.Errorf("cannot continue a search for %q: %w", pattern, err)
	}
	return s, nil
}

// next returns where the first match at or after a place, and each of its groups, begin and end; nil for no match.
func (s *search) next(text string, from int) ([]int, error) {
	if err := s.budget.charge(s.found); err != nil {
		return nil, err
	}
	if from == 0 {
		in := &meteredReader{search: s, text: text}
		return s.first.FindReaderSubmatchIndex(in), in.err
	}
	_, width := utf8.DecodeLastRuneInString(text[:from])
	in := &meteredReader{search: s, text: text[from-width:]}
	at := s.further.FindReaderSubmatchIndex(in)
	if at == nil || in.err != nil {
		return nil, in.err
	}
	for i := range at {
		if at[i] >= 0 {
			at[i] += from - width
		}
	}
	return at[2:], nil
}

// all calls a function for at most n matches, or for all if n is negative: the matches of [regexp.Regexp.FindAll].
func (s *search) all(text string, n int, match func(at []int) error) error {
	for from, end := 0, -1; n != 0 && from <= len(text); {
		at, err := s.next(text, from)
		if err != nil || at == nil {
			return err
		}
		empty := at[1] == from
		if !empty || at[0] != end { // one that is empty, right behind another, is none
			if err := match(at); err != nil {
				return err
			}
			n--
		}
		from, end = at[1], at[1]
		if empty {
			_, width := utf8.DecodeRuneInString(text[from:])
			from += max(width, 1)
		}
	}
	return nil
}

// A meteredReader charges for the characters that a matcher reads. Once the budget is spent, the text ends.
type meteredReader struct {
	search *search
	text   string
	at     int
	err    error
}

// ReadRune implements [io.RuneReader].
func (r *meteredReader) ReadRune() (rune, int, error) {
	if r.err = r.search.budget.charge(r.search.step); r.err != nil {
		return 0, 0, r.err
	}
	if r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	c, width := utf8.DecodeRuneInString(r.text[r.at:])
	r.at += width
	return c, width, nil
}

// findAll is [regexp.Regexp.FindAllString].
func (s *search) findAll(text string, n int) (all []string, err error) {
	err = s.all(text, n, func(at []int) error {
		all = append(all, text[at[0]:at[1]])
		return nil
	})
	return all, err
}

// split is [regexp.Regexp.Split].
func (s *search) split(pattern, text string, n int) ([]string, error) {
	switch {
	case n == 0:
		return nil, nil
	case pattern != "" && text == "":
		return []string{""}, nil
	}
	parts, begin, end := []string{}, 0, 0
	err := s.all(text, n, func(at []int) error {
		if n > 0 && len(parts) >= n-1 {
			return nil
		}
		if end = at[0]; at[1] != 0 {
			parts = append(parts, text[begin:end])
		}
		begin = at[1]
		return nil
	})
	if end != len(text) {
		parts = append(parts, text[begin:])
	}
	return parts, err
}

// replaceAll is [regexp.Regexp.ReplaceAllString], or [regexp.Regexp.ReplaceAllLiteralString] if literal.
func (s *search) replaceAll(text, by string, literal bool) (string, error) {
	var out []byte
	end := 0
	err := s.all(text, -1, func(at []int) error {
		length := len(by)
		if !literal {
			length += times(strings.Count(by, "$"), at[1]-at[0])
		}
		if err := s.budget.charge(made(at[0] - end + length)); err != nil {
			return err
		}
		out = append(out, text[end:at[0]]...)
		if end = at[1]; literal {
			out = append(out, by...)
		} else {
			out = s.first.ExpandString(out, by, text, at)
		}
		return nil
	})
	return string(slices.Concat(out, []byte(text[end:]))), err
}

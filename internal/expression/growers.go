package expression

import (
	"fmt"
	htmltemplate "html/template"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/internal/regex"
)

// growers make more of their arguments than these weigh, or do more with them. What they make is worked out first.
func growers() map[string]pricing {
	return map[string]pricing{
		"repeat":    func(a []reflect.Value) (Cost, error) { return made(times(whole(a[0]), a[1].Len())), nil },
		"indent":    func(a []reflect.Value) (Cost, error) { return made(indented(a)), nil },
		"nindent":   func(a []reflect.Value) (Cost, error) { return made(indented(a)), nil },
		"until":     func(a []reflect.Value) (Cost, error) { return counted(0, a[0].Int(), 1), nil },
		"untilStep": func(a []reflect.Value) (Cost, error) { return counted(a[0].Int(), a[1].Int(), a[2].Int()), nil },
		"seq":       sequence,
		"printf":    formatted,
		"replace":   func(a []reflect.Value) (Cost, error) { return replaced(a[0].String(), a[1].Len(), a[2].String()), nil },
		"join":      joined,
		"uniq":      func(a []reflect.Value) (Cost, error) { return compared(a[0], a[0]) },
		"without":   func(a []reflect.Value) (Cost, error) { return compared(a[0], a[1]) },
		"chunk":     shallow,
		"trimAll":   func(a []reflect.Value) (Cost, error) { return made(times(1+a[0].Len(), 1+a[1].Len())), nil },

		"regexMatch": func(a []reflect.Value) (Cost, error) { return regexCost(a[0].String(), a[1].Len()) },
		"regexFind":  func(a []reflect.Value) (Cost, error) { return regexCost(a[0].String(), a[1].Len()) },
		// These search again and again, and charge for what they read: see [search].
		"regexFindAll": fixed, "regexSplit": fixed, "regexReplaceAll": fixed, "regexReplaceAllLiteral": fixed,
	}
}

// made is the cost of text of some bytes.
func made(n int) Cost {
	return Cost{Time: callTime, Bytes: 400}.Add(Cost{Time: 10, Bytes: 4}.times(n))
}

// times multiplies without overflow; what is negative counts as none.
func times(a, b int) int {
	a, b = max(a, 0), max(b, 0)
	if b > 0 && a > MaxTime/b {
		return MaxTime + 1
	}
	return a * b
}

// whole is a number, no larger than what can be calculated with.
func whole(v reflect.Value) int { return int(max(min(v.Int(), 1<<53), -1<<53)) }

// counted is the cost of a list of all numbers between two. Steps are as small as they can be; numbers that can't be
// added without overflow cost too much.
func counted(from, to, step int64) Cost {
	const largest = 1 << 53
	if max(from, to, step) > largest || min(from, to, step) < -largest {
		return unaffordable()
	}
	return Cost{Time: callTime, Bytes: 400}.Add(Cost{Time: 20, Bytes: 48}.times(int(max(to-from, from-to))))
}

// sequence is for the arguments of seq: last; first and last; or first, step and last.
func sequence(a []reflect.Value) (Cost, error) {
	from, to, step := int64(1), int64(0), int64(1)
	switch len(a) {
	case 1:
		to = a[0].Int()
	case 2:
		from, to = a[0].Int(), a[1].Int()
	case 3:
		from, step, to = a[0].Int(), a[1].Int(), a[2].Int()
	default: // it makes nothing
	}
	return counted(from, to, step).times(4), nil
}

func indented(a []reflect.Value) int {
	lines := 1 + strings.Count(a[1].String(), "\n")
	return times(1+max(whole(a[0]), 0), lines) + 2*a[1].Len()
}

// replaced is the cost of putting text of some length in place of another.
func replaced(old string, length int, in string) Cost {
	n := strings.Count(in, old)
	if old == "" {
		n = utf8.RuneCountInString(in) + 1
	}
	return made(2*len(in) + len(old) + times(n, length))
}

// joined is for a separator and a list.
func joined(a []reflect.Value) (Cost, error) {
	cost, err := deep(1, 8)(a)
	return cost.Add(made(times(a[0].Len(), entries(a[1:])))), err
}

// compared is the cost of comparing each of one list with each of another.
func compared(a, b reflect.Value) (Cost, error) {
	n, err := weigh([]reflect.Value{a, b}, MaxBytes/8)
	most := max(entries([]reflect.Value{a}), entries([]reflect.Value{b}))
	return Cost{Time: callTime, Bytes: 400}.Add(Cost{Time: 4, Bytes: 8}.times(n)).Add(Cost{Time: 2}.times(times(n, most))), err
}

// formatted is for a format and its arguments, each of which may be named again and again, and be given a width
// and a precision.
func formatted(a []reflect.Value) (Cost, error) {
	const widest = 1_000_000
	format := a[0].String()
	weight, err := weigh(a[1:], MaxBytes/8)
	total := times(strings.Count(format, "%[")+1, weight) + times(strings.Count(format, "*"), widest)
	width := 0
	for _, c := range format {
		if c < '0' || c > '9' {
			total, width = total+width, 0
			continue
		}
		width = min(10*width+int(c-'0'), widest)
	}
	return made(2 * (len(format) + min(total, MaxTime))), err
}

// printed is a value as a template writes it.
func printed(v any) string {
	if v == nil {
		return "<no value>"
	}
	return fmt.Sprint(v)
}

// ours are functions in place of sprig's: they give the same each time, and fail where sprig's panic or say nothing.
func ours(b *budget) template.FuncMap {
	return template.FuncMap{
		"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
		"html": htmltemplate.HTMLEscaper, "js": htmltemplate.JSEscaper, "urlquery": htmltemplate.URLQueryEscaper,
		"keys": sortedKeys, "values": sortedValues,
		"repeat": func(n int, s string) string { return strings.Repeat(s, max(n, 0)) },
		"indent": indent, "nindent": func(n int, s string) string { return "\n" + indent(n, s) },
		"regexMatch": func(pattern, text string) (bool, error) {
			return byPattern(pattern, func(r *regexp.Regexp) bool { return r.MatchString(text) })
		},
		"regexFind": func(pattern, text string) (string, error) {
			return byPattern(pattern, func(r *regexp.Regexp) string { return r.FindString(text) })
		},
		"regexFindAll": func(pattern, text string, n int) ([]string, error) {
			return searching(pattern, b, func(s *search) ([]string, error) { return s.findAll(text, n) })
		},
		"regexSplit": func(pattern, text string, n int) ([]string, error) {
			return searching(pattern, b, func(s *search) ([]string, error) { return s.split(pattern, text, n) })
		},
		"regexReplaceAll": func(pattern, text, by string) (string, error) {
			return searching(pattern, b, func(s *search) (string, error) { return s.replaceAll(text, by, false) })
		},
		"regexReplaceAllLiteral": func(pattern, text, by string) (string, error) {
			return searching(pattern, b, func(s *search) (string, error) { return s.replaceAll(text, by, true) })
		},
	}
}

func byPattern[T any](pattern string, do func(*regexp.Regexp) T) (out T, err error) {
	r, err := regex.Compile(pattern)
	if err != nil {
		return out, err
	}
	return do(r), nil
}

func searching[T any](pattern string, b *budget, do func(*search) (T, error)) (out T, err error) {
	s, err := newSearch(pattern, b)
	if err != nil {
		return out, err
	}
	return do(s)
}

func indent(n int, s string) string {
	pad := strings.Repeat(" ", max(n, 0))
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad)
}

func sortedKeys(dicts ...map[string]any) []string {
	var keys []string
	for _, d := range dicts {
		keys = append(keys, slices.Sorted(maps.Keys(d))...)
	}
	return keys
}

func sortedValues(dict map[string]any) []any {
	var values []any
	for _, k := range slices.Sorted(maps.Keys(dict)) {
		values = append(values, dict[k])
	}
	return values
}

package expression

import (
	"reflect"
	"strings"
)

// A price returns the cost of a call of a template function, computed from its arguments before the call.
type price func(args []reflect.Value) (int, error)

// prices returns the prices of the functions of templates. Some charge a part of their price to b themselves.
func prices(b *budget) map[string]price {
	all := map[string]price{
		"repeat":    func(a []reflect.Value) (int, error) { return textCost(times(whole(a[0]), a[1].Len())), nil },
		"indent":    indentCost,
		"nindent":   indentCost,
		"until":     func(a []reflect.Value) (int, error) { return listCost(0, a[0].Int(), 1), nil },
		"untilStep": func(a []reflect.Value) (int, error) { return listCost(a[0].Int(), a[1].Int(), a[2].Int()), nil },
		"seq":       sequenceCost,
		"printf":    formatCost,
		"replace": func(a []reflect.Value) (int, error) {
			return replaceCost(a[0].String(), a[1].Len(), a[2].String()), nil
		},
		"join":    joinCost,
		"dict":    dictCost,
		"uniq":    func(a []reflect.Value) (int, error) { return compareAllCost(a[0], a[0]) },
		"without": func(a []reflect.Value) (int, error) { return compareAllCost(a[0], a[1]) },
		"trimAll": func(a []reflect.Value) (int, error) { return textCost(times(1+a[0].Len(), 1+a[1].Len())), nil },

		"regexMatch":   func(a []reflect.Value) (int, error) { return matchCost(a[0].String(), a[1].Len()) },
		"regexFind":    func(a []reflect.Value) (int, error) { return matchCost(a[0].String(), a[1].Len()) },
		"regexFindAll": b.searchCost, "regexSplit": b.searchCost,
		"regexReplaceAll": b.searchAndReplaceCost, "regexReplaceAllLiteral": b.searchAndReplaceCost,
	}
	// They return an argument, a part of one, or a word about one.
	add(all, fixed, "get hasKey default empty coalesce ternary first last all any kindOf kindIs typeOf typeIs typeIsLike dig fail")
	// They make lists and maps of values without reading them.
	add(all, perElement, "list tuple append push prepend concat rest initial chunk reverse compact keys values pluck pick omit")
	// They read their arguments from end to end, and make at most eight times as much. Those that take numbers print what is
	// not a number, in errors that are discarded.
	add(all, linear(20), "add add1 sub mul div mod max min biggest maxf minf floor ceil slice upper lower title untitle trim trimPrefix trimSuffix nospace trunc substr abbrev initials camelcase kebabcase snakecase"+
		" swapcase plural contains hasPrefix hasSuffix has quote squote cat toString toStrings atoi int int64 float64 toDecimal round"+
		" sha1sum sha256sum sha512sum adler32sum b64enc b64dec b32enc b32dec toJson toRawJson splitList regexQuoteMeta base dir clean ext isAbs"+
		" print println html js urlquery")
	// They make at most forty times as much as they read.
	add(all, linear(240), "fromJson split splitn semverCompare addf add1f subf mulf divf sortAlpha deepEqual toPrettyJson")
	return all
}

func add(to map[string]price, p price, names string) {
	for name := range strings.FieldsSeq(names) {
		to[name] = p
	}
}

const callPrice = 1800 // of any call

func fixed(args []reflect.Value) (int, error) { return callPrice + 180*len(args), nil }

func perElement(args []reflect.Value) (int, error) { return callPrice + times(424, count(args)), nil }

func linear(perByte int) price {
	return func(args []reflect.Value) (int, error) {
		size, err := sizeOf(MaxCost/perByte, args...)
		return callPrice + 180*len(args) + times(perByte, size), err
	}
}

// whole returns a number, no larger than can be calculated with.
func whole(v reflect.Value) int { return int(max(min(v.Int(), 1<<53), -1<<53)) }

// listCost is for a list of all numbers between two. The steps are as small as they can be; numbers that cannot be added
// without overflow cost too much.
func listCost(from, to, step int64) int {
	const largest = 1 << 53
	if max(from, to, step) > largest || min(from, to, step) < -largest {
		return MaxCost + 1
	}
	return callPrice + times(116, int(max(to-from, from-to)))
}

// sequenceCost is for the arguments of seq: last; first and last; or first, step and last.
func sequenceCost(a []reflect.Value) (int, error) {
	from, to, step := int64(1), int64(0), int64(1)
	switch len(a) {
	case 1:
		to = a[0].Int()
	case 2:
		from, to = a[0].Int(), a[1].Int()
	case 3:
		from, step, to = a[0].Int(), a[1].Int(), a[2].Int()
	default: // it returns nothing
	}
	return times(4, listCost(from, to, step)), nil
}

func indentCost(a []reflect.Value) (int, error) {
	lines := 1 + strings.Count(a[1].String(), "\n")
	return textCost(times(1+max(whole(a[0]), 0), lines) + 2*a[1].Len()), nil
}

// joinCost is for a separator and a list.
func joinCost(a []reflect.Value) (int, error) {
	cost, err := linear(20)(a)
	return cost + textCost(times(a[0].Len(), count(a[1:]))), err
}

// dictCost is for keys, which are printed, and values.
func dictCost(a []reflect.Value) (int, error) {
	keys := make([]reflect.Value, 0, len(a)/2+1)
	for i := 0; i < len(a); i += 2 {
		keys = append(keys, a[i])
	}
	cost, err := linear(20)(keys)
	return cost + times(424, count(a)), err
}

// compareAllCost is for comparing each element of one list with each of another.
func compareAllCost(a, b reflect.Value) (int, error) {
	size, err := sizeOf(MaxCost/20, a, b)
	most := max(count([]reflect.Value{a}), count([]reflect.Value{b}))
	return callPrice + times(20, size) + times(2, times(size, most)), err
}

// formatCost is for a format and its arguments. An argument may be named again and again, and the width and precision of a
// verb apply to each value in a list or map.
func formatCost(a []reflect.Value) (int, error) {
	const widest = 1_000_000
	format := a[0].String()
	size, err := sizeOf(MaxCost/20, a[1:]...)
	padding, width := times(strings.Count(format, "*"), widest), 0
	for _, c := range format {
		if c < '0' || c > '9' {
			padding, width = padding+width, 0
			continue
		}
		width = min(10*width+int(c-'0'), widest)
	}
	length := times(strings.Count(format, "%[")+1, size) + times(padding, max(size/valueSize, 1))
	return textCost(2 * (len(format) + min(length, MaxCost))), err
}

package catalog

import (
	"errors"
	"fmt"
	"html/template"
	"maps"
	"reflect"
	"slices"
	"strings"
	texttemplate "text/template"
)

// maxWork is how much the functions of one template may take and give in one rendering, in
// bytes, more or less. Text that is doubled again and again reaches it soon, and no file
// that people read comes near.
const maxWork = 64 << 20

// errTooMuch is of a template or expression that would take the manager's memory, or its time.
var errTooMuch = errors.New("its functions take or give too much: more than 64 MiB, or 16 in a when")

// A meter counts what the functions of one template or expression take and give.
type meter struct{ left int }

// charge fails once a rendering, or evaluation, has had its share.
func (m *meter) charge(n int) error {
	if n < 0 || n > m.left {
		m.left = 0
		return errTooMuch
	}
	m.left -= n
	return nil
}

// metered are functions that charge a meter for what they are given and give. Those of
// text/template that make text are among them, in their metered form.
func metered(all texttemplate.FuncMap, m *meter) texttemplate.FuncMap {
	maps.Copy(all, texttemplate.FuncMap{
		"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	})
	for name, f := range all {
		if !slices.Contains(pickers(), name) {
			all[name] = meteredFunction(reflect.ValueOf(f), gain(name), m)
		}
	}
	return all
}

// pickers lists functions that give what they are given, part of it, or a word about it.
func pickers() []string {
	return []string{
		"get", "hasKey", "dig", "default", "empty", "coalesce", "ternary", "first", "last", "all", "any",
		"kindOf", "kindIs", "typeOf", "typeIs", "typeIsLike",
	}
}

func meteredFunction(f reflect.Value, gain func(args []reflect.Value) int, m *meter) any {
	t := f.Type()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	failure := reflect.TypeFor[error]()
	made := reflect.FuncOf(in, []reflect.Type{t.Out(0), failure}, t.IsVariadic())
	return reflect.MakeFunc(made, func(args []reflect.Value) []reflect.Value {
		refused := func(err error) []reflect.Value {
			return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		taken := 0
		for _, a := range args {
			taken += weigh(a, m.left-taken, 0)
		}
		if err := m.charge(taken); err != nil {
			return refused(err)
		}
		if gain != nil && gain(args) > m.left {
			return refused(errTooMuch)
		}
		out := call(f, args)
		if len(out) == 1 {
			out = append(out, reflect.Zero(failure))
		}
		if err := m.charge(weigh(out[0], m.left+1, 0)); err != nil {
			return refused(err)
		}
		return out
	}).Interface()
}

func call(f reflect.Value, args []reflect.Value) []reflect.Value {
	if f.Type().IsVariadic() {
		return f.CallSlice(args)
	}
	return f.Call(args)
}

// weigh is the size of a value written out, more or less, where what is in it twice counts
// twice, and what lies deep more, as it is indented. It stops looking beyond a limit.
func weigh(v reflect.Value, limit, depth int) int {
	total := eachWeighs + depth
	switch v.Kind() {
	case reflect.String:
		return total + v.Len()
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return weigh(v.Elem(), limit, depth)
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next() && total <= limit; {
			total += weigh(i.Key(), limit-total, depth+1)
			total += weigh(i.Value(), limit-total, depth+1)
		}
	case reflect.Slice, reflect.Array:
		return total + weighList(v, limit-total, depth+1)
	default: // a number, or what functions give and nobody can look into
	}
	return total
}

// eachWeighs is what there is of any value, in bytes.
const eachWeighs = 8

func weighList(v reflect.Value, limit, depth int) int {
	if v.Type().Elem().Kind() <= reflect.Complex128 {
		return eachWeighs * v.Len()
	}
	total := 0
	for i := 0; i < v.Len() && total <= limit; i++ {
		total += weigh(v.Index(i), limit-total, depth)
	}
	return total
}

// gain tells of a function how much it may make out of its arguments, or do with them, where
// that is more than some times what they weigh; nil for any other.
func gain(name string) func(args []reflect.Value) int {
	switch name {
	case "printf":
		return func(args []reflect.Value) int { return printed(args[0].String(), weigh(args[1], maxWork, 0)) }
	case "replace": // old, new, text
		return func(args []reflect.Value) int {
			return strings.Count(args[2].String(), args[0].String()) * args[1].Len()
		}
	case "join": // separator, list
		return func(args []reflect.Value) int { return args[0].Len() * length(args[1]) }
	case "wrapWith": // width, separator, text
		return func(args []reflect.Value) int {
			return args[1].Len() * (1 + args[2].Len()/int(max(args[0].Int(), 1)))
		}
	case "regexReplaceAll", "mustRegexReplaceAll", "regexReplaceAllLiteral", "mustRegexReplaceAllLiteral": // pattern, text, new
		return func(args []reflect.Value) int { return (args[0].Len() + args[2].Len()) * (1 + args[1].Len()) }
	case "regexMatch", "mustRegexMatch", "regexFind", "mustRegexFind", "regexFindAll", "mustRegexFindAll", "regexSplit", "mustRegexSplit": // pattern, text
		return func(args []reflect.Value) int { return args[0].Len() * args[1].Len() }
	case "uniq", "mustUniq": // compares each with each
		return func(args []reflect.Value) int { return length(args[0]) * length(args[0]) }
	case "without", "mustWithout": // list, others
		return func(args []reflect.Value) int { return length(args[0]) * length(args[1]) }
	}
	return nil
}

func length(v reflect.Value) int {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	if k := v.Kind(); k == reflect.Slice || k == reflect.Array {
		return v.Len()
	}
	return 1
}

// printed is how long a text may become by its format: an argument may be named again and
// again, and be given a width of up to a million.
func printed(format string, args int) int {
	const widest = 1_000_000
	total := (strings.Count(format, "%[") + 1) * args
	total += strings.Count(format, "*") * widest
	width := 0
	for _, c := range format {
		if c < '0' || c > '9' {
			total, width = total+width, 0
			continue
		}
		width = min(10*width+int(c-'0'), widest)
	}
	return total
}

package expression

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	htmltemplate "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/DataDog/datadog-agent/pkg/template/text"
	sprig "github.com/Masterminds/sprig/v3"
)

// Functions returns the sorted names of the functions of templates, including those of text/template itself. Other
// functions are not available: they cost more than their arguments suggest, change values that others have, too, or
// depend on the clock, chance or the environment.
func Functions() []string {
	names := slices.AppendSeq([]string{"and", "or", "not", "len", "index", "eq", "ne", "lt", "le", "gt", "ge"}, maps.Keys(prices(nil)))
	slices.Sort(names)
	return names
}

// The functions that parts of a template are passed through.
const (
	printFunction = "__print"
	rangeFunction = "__range"
	readFunction  = "__read"
)

// templateFunctions charge a budget before each call.
func templateFunctions(b *budget) template.FuncMap {
	implementations := sprig.HermeticTxtFuncMap()
	for name := range strings.FieldsSeq("Match Find FindAll Split ReplaceAll ReplaceAllLiteral") {
		implementations["regex"+name] = implementations["mustRegex"+name] // the others panic or hide errors
	}
	maps.Copy(implementations, ours())
	all := template.FuncMap{
		printFunction: priced(printed, linear(20), b),
		readFunction:  priced(func(v any) any { return v }, linear(4), b),
		rangeFunction: priced(func(_ int, v any) any { return v }, loopCost, b),
	}
	for name, price := range prices(b) {
		all[name] = priced(implementations[name], price, b)
	}
	return all
}

// loopCost is the cost of a loop: of one turn, which is the first argument, for each element of the second.
func loopCost(args []reflect.Value) (int, error) {
	v := concrete(args[1])
	turns := count([]reflect.Value{v})
	switch {
	case !v.IsValid():
	case v.CanInt():
		turns = whole(v)
	case v.CanUint():
		turns = int(min(v.Uint(), MaxCost))
	}
	return times(turns, whole(args[0])+424), nil
}

// priced returns a function that charges before it is called. Readers of its result are charged separately.
func priced(implementation any, price price, b *budget) any {
	f := reflect.ValueOf(implementation)
	t, failure := f.Type(), reflect.TypeFor[error]()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	made := reflect.FuncOf(in, []reflect.Type{t.Out(0), failure}, t.IsVariadic())
	return reflect.MakeFunc(made, func(args []reflect.Value) []reflect.Value {
		cost, err := price(spread(args, t.IsVariadic()))
		if err == nil {
			err = b.charge(cost)
		}
		if err != nil {
			return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		call := f.Call
		if t.IsVariadic() {
			call = f.CallSlice
		}
		return append(call(args), reflect.Zero(failure))[:2]
	}).Interface()
}

// spread returns arguments as they are written, including variadic ones.
func spread(args []reflect.Value, variadic bool) []reflect.Value {
	if !variadic {
		return args
	}
	last := len(args) - 1
	all := slices.Clone(args[:last])
	for i := range args[last].Len() {
		all = append(all, args[last].Index(i))
	}
	return all
}

// printed returns a value as a template writes it.
func printed(v any) string {
	if v == nil {
		return "<no value>"
	}
	return fmt.Sprint(v)
}

// ours replace functions of sprig that panic or depend on the order of maps.
func ours() template.FuncMap {
	return template.FuncMap{
		"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
		"html": htmltemplate.HTMLEscaper, "js": htmltemplate.JSEscaper, "urlquery": htmltemplate.URLQueryEscaper,
		"keys": sortedKeys, "values": sortedValues,
		"repeat": func(n int, s string) string { return strings.Repeat(s, max(n, 0)) },
		"indent": indent, "nindent": func(n int, s string) string { return "\n" + indent(n, s) },
	}
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

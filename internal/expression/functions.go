package expression

import (
	"maps"
	"reflect"
	"slices"
	"text/template"

	sprig "github.com/Masterminds/sprig/v3"
)

// A pricing is what a call costs by its arguments, told before it is made.
type pricing func(args []reflect.Value) (Cost, error)

// prices of all the functions of templates but those of text/template that look at their arguments without
// reading them. A function that is not here is not available: it takes more than its arguments suggest, gives
// another result the next time (clock, chance, the manager's environment), or changes what others have, too.
func prices() map[string]pricing {
	all := map[string]pricing{}
	for names, price := range map[*[]string]pricing{
		pickers(): fixed, builders(): shallow, readers(): deep(1, 8), parsers(): deep(40, 40),
	} {
		for _, name := range *names {
			all[name] = price
		}
	}
	maps.Copy(all, growers())
	return all
}

// pickers return one of their arguments, a part of one, or a word about one.
func pickers() *[]string {
	return &[]string{
		"get", "hasKey", "default", "empty", "coalesce", "ternary", "first", "last", "all", "any",
		"kindOf", "kindIs", "typeOf", "typeIs", "typeIsLike",
		"add", "add1", "sub", "mul", "div", "mod", "max", "min", "biggest",
		"maxf", "minf", "floor", "ceil", "dig", "fail",
	}
}

// builders make lists and maps of what they are given, without a look into it.
func builders() *[]string {
	return &[]string{
		"list", "tuple", "dict", "append", "push", "prepend", "concat", "rest", "initial", "slice", "reverse", "compact",
		"keys", "values", "pluck", "pick", "omit",
	}
}

// readers read their arguments from end to end, and make at most eight times as much of them.
func readers() *[]string {
	return &[]string{
		"upper", "lower", "title", "untitle", "trim", "trimPrefix", "trimSuffix", "nospace", "trunc", "substr", "abbrev",
		"initials", "camelcase", "kebabcase", "snakecase", "swapcase", "plural",
		"contains", "hasPrefix", "hasSuffix", "has", "quote", "squote", "cat", "toString", "toStrings",
		"atoi", "int", "int64", "float64", "toDecimal", "round",
		"sha1sum", "sha256sum", "sha512sum", "adler32sum", "b64enc", "b64dec", "b32enc", "b32dec",
		"toJson", "toRawJson", "splitList", "regexQuoteMeta", "base", "dir", "clean", "ext", "isAbs",
		"print", "println", "html", "js", "urlquery",
	}
}

// parsers make much more of what they read, at most forty times as much.
func parsers() *[]string {
	return &[]string{"fromJson", "split", "splitn", "semverCompare", "addf", "add1f", "subf", "mulf", "divf", "sortAlpha", "deepEqual", "toPrettyJson"}
}

const callTime = 1000 // of any call

func fixed(args []reflect.Value) (Cost, error) {
	return Cost{Time: callTime + 50*len(args), Bytes: 400 + 64*len(args)}, nil
}

func shallow(args []reflect.Value) (Cost, error) {
	n := entries(args)
	return Cost{Time: callTime + 200*n, Bytes: 400 + 112*n}, nil
}

// deep is for what reads its arguments, at a time and at so much memory for each byte.
func deep(time, bytes int) pricing {
	return func(args []reflect.Value) (Cost, error) {
		n, err := weigh(args, MaxBytes/bytes)
		base, _ := fixed(args)
		return base.Add(Cost{Time: 4 * time, Bytes: bytes}.times(n)), err
	}
}

// Functions are the names of the functions of templates, sorted, those of text/template itself included.
func Functions() []string {
	names := slices.AppendSeq(builtins(), maps.Keys(prices()))
	slices.Sort(names)
	return names
}

// builtins are functions of text/template that are available as they are.
func builtins() []string {
	return []string{"and", "or", "not", "len", "index", "eq", "ne", "lt", "le", "gt", "ge"}
}

// The functions that the pipelines of a template are passed through.
const (
	printFunction = "__print"
	rangeFunction = "__range"
	readFunction  = "__read"
)

// templateFunctions charge a budget before each call.
func templateFunctions(b *budget) template.FuncMap {
	all := template.FuncMap{}
	implementations := sprig.HermeticTxtFuncMap()
	maps.Copy(implementations, ours(b))
	for name, price := range prices() {
		all[name] = priced(reflect.ValueOf(implementations[name]), price, b)
	}
	same := reflect.ValueOf(func(v any) any { return v })
	all[printFunction] = priced(reflect.ValueOf(printed), deep(1, 8), b)
	all[rangeFunction] = priced(same, shallow, b)
	all[readFunction] = priced(same, deep(1, 1), b)
	return all
}

// priced is a function that charges before it is called. Its result is charged for by who reads it.
func priced(f reflect.Value, price pricing, b *budget) any {
	t := f.Type()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	failure := reflect.TypeFor[error]()
	made := reflect.FuncOf(in, []reflect.Type{t.Out(0), failure}, t.IsVariadic())
	return reflect.MakeFunc(made, func(args []reflect.Value) []reflect.Value {
		cost, err := price(spread(args, t.IsVariadic()))
		if err == nil {
			err = b.charge(cost)
		}
		if err != nil {
			return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		out := call(f, args)
		if len(out) == 1 {
			out = append(out, reflect.Zero(failure))
		}
		return out
	}).Interface()
}

// spread are the arguments as they are written, of a variadic function, too.
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

func call(f reflect.Value, args []reflect.Value) []reflect.Value {
	if f.Type().IsVariadic() {
		return f.CallSlice(args)
	}
	return f.Call(args)
}

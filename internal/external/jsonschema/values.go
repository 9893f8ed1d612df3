package jsonschema

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kindOf returns the type of a JSON value, which is number for an integer, or "" if it is no JSON value.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	if _, ok := exact(value); ok {
		return "number"
	}
	return ""
}

func types(k keyword) check {
	allowed, isList := k.value().([]any)
	if !isList {
		allowed = []any{k.value()}
	}
	known := []any{"array", "boolean", "integer", "null", "number", "object", "string"}
	for i, name := range allowed {
		if !slices.Contains(known, name) || slices.Contains(allowed[:i], name) {
			k.fault("use array, boolean, integer, null, number, object or string, or a list of different ones")
			return nil
		}
	}
	if len(allowed) == 0 {
		k.fault("use at least one type")
	}
	return k.require(func(v any) bool {
		n, isNumber := exact(v)
		return slices.Contains(allowed, any(kindOf(v))) || isNumber && n.IsInt() && slices.Contains(allowed, "integer")
	})
}

func constant(k keyword) check {
	want := canonical(k.value())
	return k.require(func(v any) bool { return canonical(v) == want })
}

func enum(k keyword) check {
	list := k.list()
	all := map[string]bool{}
	for _, e := range list {
		all[canonical(e)] = true
	}
	if k.draft < 2019 && (len(list) == 0 || len(all) < len(list)) {
		k.fault("use at least one value, and no equal ones")
	}
	return k.require(func(v any) bool { return all[canonical(v)] })
}

// canonical returns a text that two values have in common if and only if they are equal.
func canonical(value any) string {
	var b strings.Builder
	writeCanonical(&b, value)
	return b.String()
}

func writeCanonical(b *strings.Builder, value any) {
	switch v := value.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(key))
			writeCanonical(b, v[key])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			writeCanonical(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case string:
		b.WriteString(strconv.Quote(v))
	default:
		if n, ok := exact(v); ok {
			v = n.RatString()
		}
		fmt.Fprint(b, v)
	}
}

// size is a keyword that the size of values of a type is on one side of, +1 or -1, or equals.
func size(side int, kind string) func(keyword) check {
	return func(k keyword) check {
		to := k.count()
		return k.require(func(v any) bool { return kindOf(v) != kind || cmp.Compare(sizeOf(v), to)*side >= 0 })
	}
}

func sizeOf(value any) int {
	switch v := value.(type) {
	case string:
		return utf8.RuneCountInString(v)
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

func pattern(k keyword) check {
	re := k.regexp(k.text())
	return k.require(func(v any) bool { text, ok := v.(string); return !ok || re.MatchString(text) })
}

func (k keyword) regexp(text string) *regexp.Regexp {
	re, err := regexp.Compile(text)
	if err != nil {
		k.fault(fmt.Sprintf("use the syntax of RE2: %v", err))
	}
	return re
}

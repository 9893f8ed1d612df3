package jsonschema_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// FuzzTheLibraryAgrees compares random schemas, of which most are valid, and random values with the library.
func FuzzTheLibraryAgrees(f *testing.F) {
	for seed := range uint64(500) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 0))}
		schema := g.schema(3)
		if s, ok := schema.(map[string]any); ok && g.IntN(6) > 0 {
			s["$schema"] = dialects()[g.IntN(6)]
		}
		var values []string
		for range 20 {
			values = append(values, text(t, g.value(3)))
		}
		compareWithLibrary(t, text(t, schema), values...)
	})
}

func text(t *testing.T, tree any) string {
	t.Helper()
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

type generator struct{ *rand.Rand }

func one[T any](g generator, all ...T) T { return all[g.IntN(len(all))] }

func (g generator) name() string { return one(g, "a", "b", "c", "ab", "1") }

func (g generator) number() json.Number {
	return one[json.Number](g, "0", "1", "2", "3", "1.0", "1.5", "-1", "0.1", "1e1", "10", "-0.5", "100e-2", "99999999999999999999", "1e20")
}

func (g generator) value(depth int) any {
	switch g.IntN(4 + 3*min(depth, 1)) {
	case 0:
		return one[any](g, nil, true, false)
	case 1:
		return one(g, "", "a", "b", "ab", "äö", "2024-01-01")
	case 2, 3:
		return g.number()
	case 4:
		return list(g, g.IntN(4), func() any { return g.value(depth - 1) })
	default:
		return named(g, func() any { return g.value(depth - 1) })
	}
}

func list(g generator, n int, each func() any) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = each()
	}
	return all
}

func named(g generator, each func() any) map[string]any {
	all := map[string]any{}
	for range g.IntN(4) {
		all[g.name()] = each()
	}
	return all
}

func (g generator) schema(depth int) any {
	if depth == 0 || g.IntN(8) == 0 {
		return one[any](g, true, false, map[string]any{}, map[string]any{"type": "integer"})
	}
	s := map[string]any{}
	for range 1 + g.IntN(4) {
		if g.IntN(2) == 0 {
			g.assertion(s)
		} else {
			g.applicator(s, func() any { return g.schema(depth - 1) })
		}
	}
	return s
}

func (g generator) assertion(s map[string]any) {
	switch g.IntN(8) {
	case 0:
		s["type"] = one[any](g, "integer", "number", "string", "object", "array", "null", []any{"integer", "object"}, []any{"array", "object"}, "other")
	case 1:
		s[one(g, "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains")] = one[any](g, 0, 1, 2, 3, 3, 2, 1, "1", -1)
	case 2:
		s[one(g, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")] = one[any](g, g.number(), g.number(), g.number(), g.number(), true)
	case 3:
		s["const"] = g.value(2)
	case 4:
		s["enum"] = list(g, g.IntN(5), func() any { return g.value(1) })
	case 5:
		s[one(g, "required", "examples")] = list(g, g.IntN(3), func() any { return g.name() })
	case 6:
		s[one(g, "uniqueItems", "exclusiveMinimum", "exclusiveMaximum", "readOnly")] = one(g, true, true, false)
	default:
		s[one(g, "pattern", "format", "title")] = one[any](g, "a", "^.$", "date", "(")
	}
}

func (g generator) applicator(s map[string]any, part func() any) {
	names := func() any { return list(g, g.IntN(3), func() any { return g.name() }) }
	switch g.IntN(6) {
	case 0, 1:
		s[one(g, "properties", "properties", "patternProperties", "dependentSchemas", "dependencies", "definitions", "$defs")] = named(g, part)
	case 2:
		s[one(g, "additionalProperties", "propertyNames", "unevaluatedProperties", "items", "additionalItems", "contains", "unevaluatedItems", "not", "if", "then", "else", "contentSchema")] = part()
	case 3:
		s[one(g, "unevaluatedProperties", "unevaluatedItems", "additionalProperties")] = one(g, false, part())
	case 4:
		s[one(g, "allOf", "anyOf", "oneOf", "prefixItems", "items")] = list(g, 1+g.IntN(3), part)
	default:
		s[one(g, "dependentRequired", "dependencies")] = named(g, names)
	}
}

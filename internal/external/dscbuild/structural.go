package dscbuild

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A converter makes structural schemas, which API servers accept. What they cannot express is left to a check by the
// original schema.
type converter struct{ lossy bool }

// Types of JSON schemas.
const (
	typeArray  = "array"
	typeObject = "object"
	typeNull   = "null"

	typeKeyword = "type"
)

// keptKeywords mean the same in structural schemas.
func keptKeywords() []string {
	return []string{"description", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "multipleOf"}
}

// handledKeywords are converted, or have no effect on what is valid.
func handledKeywords() []string {
	return []string{
		"type", "enum", "const", "pattern", "format", "items", "properties", "required", "additionalProperties", "minimum", "maximum",
		"exclusiveMinimum", "exclusiveMaximum", "title", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment",
	}
}

// schema converts a schema. A type that may be null becomes the type without null, because an attribute that is not set is
// unmanaged.
func (c *converter) schema(from tree) (tree, error) {
	from = c.flattened(from)
	kinds := typesOf(from)
	if len(kinds) != 1 {
		return c.several(from, kinds), nil
	}
	to := c.kept(from)
	to["type"] = kinds[0]
	if err := c.text(from, to); err != nil {
		return nil, err
	}
	c.limits(from, to)
	switch kinds[0] {
	case typeArray:
		return to, c.list(from, to)
	case typeObject:
		return to, c.object(from, to)
	}
	return to, nil
}

// several returns the schema of values of several types, or of all. Its conditions are left to the check by the original schema.
func (c *converter) several(from tree, kinds []string) tree {
	to := tree{}
	for key, value := range from {
		if key == "description" {
			to[key] = value
		} else if key != typeKeyword && key != "title" {
			c.lossy = true
		}
	}
	if len(kinds) == 0 || isAny(kinds) {
		to["x-kubernetes-preserve-unknown-fields"] = true
		return to
	}
	to[typeKeyword] = kinds
	return to
}

// isAny reports whether types are all that a value can have besides null.
func isAny(kinds []string) bool {
	for _, kind := range []string{"string", "number", "boolean", typeArray, typeObject} {
		if !slices.Contains(kinds, kind) {
			return false
		}
	}
	return true
}

// kept returns the keywords that stay as they are.
func (c *converter) kept(from tree) tree {
	to := tree{}
	for key, value := range from {
		switch {
		case slices.Contains(keptKeywords(), key):
			to[key] = value
		case !slices.Contains(handledKeywords(), key) && !strings.HasPrefix(key, "x-"):
			c.lossy = true
		}
	}
	return to
}

// flattened merges alternatives that only add null, alternatives of constants, and a condition that stands for all.
func (c *converter) flattened(from tree) tree {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		rest := withoutNull(from[keyword])
		if len(rest) == 0 {
			continue
		}
		merged := maps.Clone(from)
		delete(merged, keyword)
		if len(rest) == 1 {
			maps.Copy(merged, rest[0])
			return c.flattened(merged)
		}
		if values := c.constants(rest); len(values) >= len(rest) {
			merged["enum"] = values
			return merged
		}
	}
	if all, ok := from["allOf"].([]any); ok && len(all) == 1 && typesOf(from) == nil {
		if only, ok := all[0].(tree); ok {
			merged := maps.Clone(only)
			maps.Copy(merged, from)
			delete(merged, "allOf")
			c.lossy = true
			return c.flattened(merged)
		}
	}
	return from
}

// withoutNull returns the schemas of a list except the schema of null.
func withoutNull(list any) []tree {
	var rest []tree
	all, _ := list.([]any)
	for _, e := range all {
		if t, ok := e.(tree); ok && t["type"] != typeNull {
			rest = append(rest, t)
		}
	}
	return rest
}

// constants returns the values of alternatives.
func (c *converter) constants(alternatives []tree) []any {
	var values []any
	conditions := false
	for _, t := range alternatives {
		if v, ok := t["const"]; ok {
			values = append(values, v)
		} else if e, ok := t["enum"].([]any); ok {
			values = append(values, e...)
		}
		conditions = conditions || !isNamedValue(t)
	}
	c.lossy = c.lossy || conditions
	return values
}

// isNamedValue reports whether a schema only allows values, and describes them.
func isNamedValue(s tree) bool {
	for key := range s {
		if !slices.Contains([]string{"const", "enum", "title", "description", "type"}, key) {
			return false
		}
	}
	return true
}

// typesOf returns the types that a schema allows besides null, also if it does not say them.
func typesOf(s tree) []string {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []any:
		return listedTypes(t)
	}
	values, _ := s["enum"].([]any)
	if v, ok := s["const"]; ok {
		values = []any{v}
	}
	var all []string
	for _, v := range values {
		if kind := typeOfValue(v); kind != typeNull && !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	if len(all) > 0 {
		return all
	}
	if all, ok := typesOfAlternatives(s); ok {
		return all
	}
	return impliedTypes(s)
}

// typesOfAlternatives returns the types of anyOf or oneOf; none if one of the alternatives allows all. It is false without
// alternatives.
func typesOfAlternatives(s tree) (all []string, ok bool) {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		alternatives := withoutNull(s[keyword])
		for _, t := range alternatives {
			some := typesOf(t)
			if len(some) == 0 {
				return nil, true
			}
			all = append(all, some...)
		}
		if len(alternatives) > 0 {
			slices.Sort(all)
			return slices.Compact(all), true
		}
	}
	return nil, false
}

// listedTypes returns the types of a list except null.
func listedTypes(list []any) []string {
	var all []string
	for _, e := range list {
		if name, ok := e.(string); ok && name != typeNull {
			all = append(all, name)
		}
	}
	if len(all) == 2 && slices.Contains(all, "integer") && slices.Contains(all, "number") {
		return []string{"number"}
	}
	return all
}

// impliedTypes returns the type that the keywords of a schema are about.
func impliedTypes(s tree) []string {
	for _, of := range []struct{ keyword, kind string }{
		{"properties", typeObject}, {"items", typeArray}, {"pattern", "string"}, {"minLength", "string"}, {"maxLength", "string"},
	} {
		if s[of.keyword] != nil {
			return []string{of.kind}
		}
	}
	return nil
}

func typeOfValue(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return typeArray
	case tree:
		return typeObject
	}
	return typeNull
}

// text converts the values and forms of text.
func (c *converter) text(from, to tree) error {
	if v, ok := from["const"]; ok {
		to["enum"] = []any{v}
	} else if values, ok := from["enum"].([]any); ok {
		to["enum"] = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
	}
	if p, ok := from["pattern"].(string); ok {
		if _, err := regexp.Compile(p); err != nil {
			return fmt.Errorf("the pattern %.80q is refused, because it is not one of RE2: %w", p, err)
		}
		to["pattern"] = p
	}
	formats := []string{"date-time", "date", "email", "hostname", "ipv4", "ipv6", "uri", "uuid", "password"}
	if f, ok := from["format"].(string); ok && slices.Contains(formats, f) {
		to["format"] = f
	}
	return nil
}

// limits converts the limits of numbers, whose exclusive form was a flag in draft 4.
func (c *converter) limits(from, to tree) {
	for limit, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		if v, ok := from[limit].(float64); ok {
			to[limit] = v
		}
		switch v := from[exclusive].(type) {
		case bool:
			to[exclusive] = v
		case float64:
			if _, both := to[limit]; both {
				c.lossy = true
				continue
			}
			to[limit], to[exclusive] = v, true
		}
	}
}

func (c *converter) list(from, to tree) (err error) {
	items, ok := from["items"].(tree)
	if !ok {
		c.lossy = c.lossy || from["items"] != nil
		to["items"] = tree{"x-kubernetes-preserve-unknown-fields": true}
		return nil
	}
	to["items"], err = c.schema(items)
	if err != nil {
		return fmt.Errorf("items: %w", err)
	}
	return nil
}

func (c *converter) object(from, to tree) error {
	properties := propertiesOf(from)
	if len(properties) == 0 {
		return c.anyNames(from, to)
	}
	fields := tree{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, ok := properties[name].(tree)
		c.lossy = c.lossy || !ok
		field, err := c.schema(property)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fields[name] = field
	}
	to["properties"] = fields
	if required, ok := from["required"].([]any); ok && len(required) > 0 {
		to["required"] = required
	}
	if from["additionalProperties"] != false {
		to["x-kubernetes-preserve-unknown-fields"] = true
		_, restricted := from["additionalProperties"].(tree)
		c.lossy = c.lossy || restricted
	}
	return nil
}

// anyNames converts an object without properties that the schema names.
func (c *converter) anyNames(from, to tree) (err error) {
	if rest, ok := from["additionalProperties"].(tree); ok {
		to["additionalProperties"], err = c.schema(rest)
		return err
	}
	to["x-kubernetes-preserve-unknown-fields"] = true
	c.lossy = c.lossy || from["additionalProperties"] == false || from["required"] != nil
	return nil
}

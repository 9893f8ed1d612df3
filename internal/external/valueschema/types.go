package valueschema

import (
	"encoding/json"
	"slices"
	"strings"
)

// Types of values, as JSON schemas name them. Each integer is a number, too.
const (
	Null    = "null"
	Boolean = "boolean"
	Integer = "integer"
	Number  = "number"
	String  = "string"
	Array   = "array"
	Object  = "object"
)

// A set is a set of types. Numbers are those that are integers and those that are not.
type set uint8

const (
	isNull set = 1 << iota
	isBoolean
	isInteger
	isFraction
	isString
	isArray
	isObject

	isNumber = isInteger | isFraction
	anything = isNull | isBoolean | isNumber | isString | isArray | isObject
)

// names returns the names of the types, in an order that does not change.
func (s set) names() []string {
	var all []string
	for _, t := range []struct {
		name string
		is   set
	}{
		{String, isString}, {Integer, isInteger}, {Number, isNumber}, {Boolean, isBoolean}, {Array, isArray}, {Object, isObject}, {Null, isNull},
	} {
		if s&t.is == t.is && (t.is != isInteger || s&isFraction == 0) {
			all = append(all, t.name)
		}
	}
	return all
}

// named returns the set of a type; nothing for an unknown name.
func named(name any) set {
	switch name {
	case Null:
		return isNull
	case Boolean:
		return isBoolean
	case Integer:
		return isInteger
	case Number:
		return isNumber
	case String:
		return isString
	case Array:
		return isArray
	case Object:
		return isObject
	}
	return 0
}

// Of returns the type of a decoded JSON value.
func Of(value any) string {
	switch s := of(value); s {
	case isFraction:
		return Number
	default:
		return s.names()[0]
	}
}

func of(value any) set {
	switch v := value.(type) {
	case string:
		return isString
	case bool:
		return isBoolean
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return isFraction
		}
		return isInteger
	case float64:
		if v == float64(int64(v)) {
			return isInteger
		}
		return isFraction
	case int64:
		return isInteger
	case []any:
		return isArray
	case tree:
		return isObject
	}
	return isNull
}

// typesOf returns the types of the values that a schema can allow.
func typesOf(schema any) set {
	s, ok := schema.(tree)
	if !ok {
		if schema == false {
			return 0
		}
		return anything
	}
	all := listed(s)
	if _, one := s[keyType].(string); !one {
		all &= ofValues(s) & ofAlternatives(s)
	}
	if s[nullable] == true {
		all |= isNull
	}
	return all
}

// ofValues returns the types of the values that a schema lists, all types if it lists none.
func ofValues(s tree) set {
	values, ok := valuesOf(s)
	if !ok {
		return anything
	}
	var all set
	for _, v := range values {
		all |= of(v)
	}
	return all
}

// ofAlternatives returns the types that the parts of allOf, anyOf and oneOf allow together.
func ofAlternatives(s tree) set {
	all := anything
	for _, key := range []string{anyOf, oneOf} {
		if branches, ok := s[key].([]any); ok {
			var some set
			for _, b := range branches {
				some |= typesOf(b)
			}
			all &= some
		}
	}
	branches, _ := s[allOf].([]any)
	for _, b := range branches {
		all &= typesOf(b)
	}
	return all
}

// listed returns the types that a schema names, all of them if it names none.
func listed(s tree) set {
	switch t := s[keyType].(type) {
	case string:
		return named(t)
	case []any:
		var all set
		for _, e := range t {
			all |= named(e)
		}
		return all
	}
	if s[intOrString] == true {
		return isInteger | isString
	}
	return anything
}

// valuesOf returns the values that a schema lists.
func valuesOf(s tree) ([]any, bool) {
	if v, ok := s[constant]; ok {
		return []any{v}, true
	}
	values, ok := s[enum].([]any)
	return values, ok
}

// Allows reports whether a value has one of the types. No types allow everything.
func Allows(types []string, value any) bool {
	is := Of(value)
	return len(types) == 0 || slices.Contains(types, is) || is == Integer && slices.Contains(types, Number)
}

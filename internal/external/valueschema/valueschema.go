// Package valueschema reads the schemas of values as authors write them, and makes structural schemas of them, which API servers accept and check.
//
// A structural schema has one type. Authors may write several, with a list of types or with anyOf and oneOf, and null among
// them. Their structural schema has no type but conditions that only values of these types meet, such as the one that a value is
// not both shorter and longer than a text can be, which holds for texts alone.
package valueschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A tree is a decoded JSON object.
type tree = map[string]any

// Keywords of schemas.
const (
	keyType     = "type"
	nullable    = "nullable"
	enum        = "enum"
	constant    = "const"
	anyOf       = "anyOf"
	oneOf       = "oneOf"
	allOf       = "allOf"
	not         = "not"
	items       = "items"
	properties  = "properties"
	additional  = "additionalProperties"
	intOrString = "x-kubernetes-int-or-string"
	preserve    = "x-kubernetes-preserve-unknown-fields"
)

// Types returns the names of the types that a schema allows, with null; none if it allows all or cannot be read.
func Types(raw []byte) []string {
	var simple struct {
		Type     any  `json:"type"`
		Nullable bool `json:"nullable"`
	}
	if json.Unmarshal(raw, &simple) == nil {
		if name, ok := simple.Type.(string); ok { // most schemas, of which the rest does not matter
			return typesOf(tree{keyType: name, nullable: simple.Nullable}).names()
		}
	}
	s, err := decode(raw)
	if all := typesOf(s); err == nil && all != anything {
		return all.names()
	}
	return nil
}

// Structural returns the structural schema for a schema, as JSON. The error begins after the name of the schema.
func Structural(raw []byte) ([]byte, error) {
	s, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf(": %w", err)
	}
	out, err := structural(s)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

func decode(raw []byte) (s any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&s)
	return s, err
}

// structural returns the structural schema for a schema that is no condition of another one.
func structural(schema any) (tree, error) {
	if schema == true {
		return tree{preserve: true}, nil
	}
	from, ok := schema.(tree)
	if !ok {
		return nil, fmt.Errorf(" is %v: write an object", schema)
	}
	if from[intOrString] == true { // it is structural as it is
		return from, nil
	}
	if err := knownTypes(from); err != nil {
		return nil, err
	}
	types := typesOf(from)
	from, err := merged(from)
	if err != nil {
		return nil, err
	}
	if from, err = hoisted(from); err != nil {
		return nil, err
	}
	to, err := conditions(from, types)
	if err != nil {
		return nil, err
	}
	if err := typed(from, to, types); err != nil {
		return nil, err
	}
	return to, parts(from, to)
}

// typed sets what allows the types of a schema.
func typed(from, to tree, types set) error {
	kinds := types &^ isNull
	some := kinds != 0 && kinds != anything&^isNull
	switch {
	case kinds == 0:
		return errors.New(" allows no value: correct type, anyOf, oneOf and enum")
	case some:
		oneOrMore(to, kinds)
	case from[preserve] == true || annotates(from):
		to[preserve] = true
	default:
		return errors.New(` has no type: write one, such as "type: string", or several, such as "type: [string, boolean]"`)
	}
	if types&isNull != 0 && some || from[nullable] == true {
		allowNull(to)
	}
	return nil
}

// oneOrMore sets what allows one type or several, but not all.
func oneOrMore(to tree, kinds set) {
	values, listed := to[enum].([]any)
	switch names := kinds.names(); {
	case len(names) == 1:
		to[keyType] = names[0]
	case kinds == isInteger|isString:
		to[intOrString] = true
		delete(to, preserve)
	case listed:
		to[preserve] = true
		to[enum] = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return of(v)&^isNull&^kinds != 0 })
	default:
		to[preserve] = true
		to[allOf] = append(list(to[allOf]), oneIsOf(kinds))
	}
}

// allowNull sets what allows null. An API server never finds it in enum, but checks only the rest of a schema for it.
func allowNull(to tree) {
	to[nullable] = true
	if values, ok := to[enum].([]any); ok {
		delete(to, enum)
		to[allOf] = append(list(to[allOf]), tree{enum: slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })})
	}
}

// annotates reports whether a schema says nothing about values.
func annotates(s tree) bool {
	for key := range s {
		if !slices.Contains([]string{"description", "title", "example", "externalDocs", nullable}, key) {
			return false
		}
	}
	return true
}

// knownTypes returns an error if a schema names a type that does not exist.
func knownTypes(s tree) error {
	all, isList := s[keyType].([]any)
	if name, ok := s[keyType]; ok && !isList {
		all = []any{name}
	}
	for _, name := range all {
		if named(name) == 0 {
			return fmt.Errorf(".type has %q: use string, integer, number, boolean, array, object or null", fmt.Sprint(name))
		}
	}
	if s[keyType] != nil && len(all) == 0 {
		return errors.New(".type is empty: list at least one type")
	}
	return nil
}

// merged returns a schema with the only alternative that is left without null in it.
func merged(from tree) (tree, error) {
	for _, key := range []string{anyOf, oneOf} {
		all, ok := from[key].([]any)
		rest := slices.DeleteFunc(slices.Clone(all), func(b any) bool { return typesOf(b) == isNull })
		if !ok || len(rest) != 1 || len(all) == 1 {
			continue
		}
		only, ok := rest[0].(tree)
		if !ok {
			continue
		}
		to := maps.Clone(from)
		delete(to, key)
		for k, v := range only {
			if old, twice := to[k]; twice && k != keyType && !reflect.DeepEqual(old, v) {
				return nil, fmt.Errorf(".%s is in %s, too, with another value: write it once", k, key)
			}
			to[k] = v
		}
		return merged(to)
	}
	return from, nil
}

// hoisted returns a schema with the parts that one of its alternatives has: what a list or object consists of is written
// once in a structural schema.
func hoisted(from tree) (tree, error) {
	to := maps.Clone(from)
	for _, key := range []string{anyOf, oneOf} {
		all, ok := from[key].([]any)
		if !ok || typesOf(from)&^isNull == typesOf(tree{keyType: from[keyType]})&^isNull && from[keyType] != nil {
			continue // the alternatives are conditions on parts that the schema has
		}
		out := slices.Clone(all)
		for i, b := range all {
			branch, ok := b.(tree)
			if !ok {
				continue
			}
			branch = maps.Clone(branch)
			if err := hoist(branch, to, slices.Concat(all[:i], all[i+1:])); err != nil {
				return nil, fmt.Errorf(".%s[%d]%w", key, i, err)
			}
			out[i] = branch
		}
		to[key] = out
	}
	return to, nil
}

// hoist moves the parts of an alternative to the schema. None of the others may allow a value that has such parts.
func hoist(branch, to tree, others []any) error {
	for _, part := range []string{items, properties, additional, preserve} {
		v, has := branch[part]
		if !has {
			continue
		}
		of := isObject
		if part == items {
			of = isArray
		}
		same := func(b any) bool { return typesOf(b)&of != 0 }
		if _, twice := to[part]; twice || slices.ContainsFunc(others, same) {
			return fmt.Errorf(".%s: several alternatives are of the type %s: an API server can only check one with %s", part, of.names()[0], part)
		}
		to[part] = v
		delete(branch, part)
	}
	return nil
}

// parts sets the structural schemas of what a value consists of.
func parts(from, to tree) (err error) {
	if of, ok := from[items]; ok {
		if to[items], err = structural(of); err != nil {
			return fmt.Errorf(".%s%w", items, err)
		}
	}
	switch of := from[additional]; of {
	case nil, false: // other fields are refused
	case true:
		to[preserve] = true
	default:
		if to[additional], err = structural(of); err != nil {
			return fmt.Errorf(".%s%w", additional, err)
		}
	}
	of, ok := from[properties].(tree)
	if !ok {
		return nil
	}
	fields := tree{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if fields[name], err = structural(of[name]); err != nil {
			return fmt.Errorf(".%s[%s]%w", properties, name, err)
		}
	}
	to[properties] = fields
	return nil
}

func list(of any) []any {
	all, _ := of.([]any)
	return slices.Clone(all)
}

// Words returns types as a sentence has them: string, integer or null.
func Words(types []string) string {
	if len(types) < 2 {
		return strings.Join(types, "")
	}
	return strings.Join(types[:len(types)-1], ", ") + " or " + types[len(types)-1]
}

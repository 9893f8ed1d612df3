package valueschema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// conditions returns the keywords of a schema that are conditions on a value whose type is one of some types.
func conditions(from tree, types set) (tree, error) {
	to := tree{}
	for key, value := range from {
		if !slices.Contains([]string{keyType, nullable, constant, anyOf, oneOf, allOf, not, items, properties, additional, intOrString}, key) {
			to[key] = value
		}
	}
	if v, ok := from[constant]; ok {
		to[enum] = []any{v}
	}
	for _, key := range []string{anyOf, oneOf, allOf} {
		out, err := branches(from, key, types)
		if err != nil {
			return nil, err
		}
		if out != nil {
			to[key] = out
		}
	}
	if no, ok := from[not]; ok {
		c, err := condition(no, types)
		if err != nil {
			return nil, fmt.Errorf(".not%w", err)
		}
		to[not] = c
	}
	return to, nil
}

// branches returns the conditions of allOf, anyOf or oneOf; none if the types of the schema say it all.
func branches(from tree, key string, types set) (out []any, err error) {
	all, _ := from[key].([]any)
	if key != allOf && distinctTypes(all) {
		return nil, nil
	}
	for i, b := range all {
		if key != allOf && typesOf(b) == isNull { // a condition is not checked for null
			continue
		}
		c, err := condition(b, types)
		if err != nil {
			return nil, fmt.Errorf(".%s[%d]%w", key, i, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// condition returns a schema that is a part of allOf, anyOf, oneOf or not as a condition without a type, on a value whose type
// is one of some types.
func condition(schema any, types set) (tree, error) {
	if schema == true {
		return tree{}, nil
	}
	from, ok := schema.(tree)
	if !ok {
		return nil, fmt.Errorf(" is %v: write an object", schema)
	}
	if err := knownTypes(from); err != nil {
		return nil, err
	}
	to, err := conditions(from, types)
	if err != nil {
		return nil, err
	}
	delete(to, "description")
	delete(to, "title")
	switch own := listed(from) & types &^ isNull; own {
	case types &^ isNull:
	case 0:
		return nil, errors.New(".type allows no value that the rest of the schema allows")
	default:
		to[allOf] = append(list(to[allOf]), oneIsOf(own))
	}
	return to, conditionsOnAll(from, to)
}

// conditionsOnAll sets the conditions on what a value consists of.
func conditionsOnAll(from, to tree) (err error) {
	for _, part := range []string{items, properties, additional} {
		if value, has := from[part]; has {
			if to[part], err = conditionsOnParts(part, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func conditionsOnParts(part string, value any) (any, error) {
	if part != properties {
		c, err := condition(value, anything)
		if err != nil {
			return nil, fmt.Errorf(".%s%w", part, err)
		}
		return c, nil
	}
	all, ok := value.(tree)
	if !ok {
		return nil, fmt.Errorf(".%s is no object", part)
	}
	out := tree{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c, err := condition(all[name], anything)
		if err != nil {
			return nil, fmt.Errorf(".%s[%s]%w", part, name, err)
		}
		out[name] = c
	}
	return out, nil
}

// distinctTypes reports whether alternatives say nothing but a type, each another one: then the types of the schema say it all.
func distinctTypes(all []any) bool {
	var before set
	for _, b := range all {
		s, ok := b.(tree)
		rest := maps.Clone(s)
		delete(rest, keyType)
		types := typesOf(b) &^ isNull
		if !ok || s[keyType] == nil || !annotates(rest) || types == 0 || types&before != 0 {
			return false
		}
		before |= types
	}
	return len(all) > 1
}

// oneIsOf returns a condition that only values of some types meet.
func oneIsOf(types set) tree {
	var all []any
	for _, name := range types.names() {
		all = append(all, isOf(name))
	}
	if len(all) == 1 {
		return all[0].(tree) //nolint:forcetypeassert // isOf returns it
	}
	return tree{anyOf: all}
}

// isOf returns a condition that only values of a type meet: a keyword that is about one type holds for values of all others.
func isOf(name string) tree {
	switch name {
	case Boolean:
		return tree{enum: []any{true, false}}
	case Integer:
		c := isOf(Number)
		c["multipleOf"] = 1
		return c
	}
	about := map[string]string{String: "Length", Array: "Items", Object: "Properties"}[name]
	if name == Number {
		about = "imum"
	}
	return tree{not: tree{allOf: []any{tree{"min" + about: 1}, tree{"max" + about: 0}}}}
}

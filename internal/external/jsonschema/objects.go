package jsonschema

import (
	"regexp"
	"slices"
)

func required(k keyword) check { return k.requiredAs(k.name) }

// requiredAs is a check that an object has the properties of a list. Its violations have another name than the list.
func (k keyword) requiredAs(name string) check {
	names := k.names()
	k.name = name
	return k.require(func(v any) bool {
		object, ok := v.(map[string]any)
		lacks := func(name string) bool { _, has := object[name]; return !has }
		return !ok || !slices.ContainsFunc(names, lacks)
	})
}

func properties(k keyword) check {
	named := k.named()
	return func(on *instance) {
		for name, value := range on.properties() {
			if n := named[name]; n != nil {
				on.addPart(name, value, n)
			}
		}
	}
}

func patternProperties(k keyword) check {
	patterns, named := k.patterns(), k.named()
	return func(on *instance) {
		for name, value := range on.properties() {
			for _, re := range patterns {
				if re.MatchString(name) {
					on.addPart(name, value, named[re.String()])
				}
			}
		}
	}
}

// patterns returns the keys of the value as patterns.
func (k keyword) patterns() (all []*regexp.Regexp) {
	for text := range k.object() {
		all = append(all, k.within(text).regexp(text))
	}
	return all
}

func additionalProperties(k keyword) check {
	named, _ := k.siblings["properties"].(map[string]any)
	var patterns []*regexp.Regexp
	if others := k.sibling("patternProperties"); others.exists() {
		patterns = others.patterns()
	}
	add := k.rest()
	return func(on *instance) {
		for name, value := range on.properties() {
			matches := func(re *regexp.Regexp) bool { return re.MatchString(name) }
			if _, ok := named[name]; !ok && !slices.ContainsFunc(patterns, matches) {
				add(on, name, value)
			}
		}
	}
}

// rest returns what adds the violations of a part that other keywords leave. If there must be none, the whole is wrong.
func (k keyword) rest() func(on *instance, name string, value any) {
	if k.value() == false {
		return func(on *instance, name string, _ any) {
			on.evaluate(name)
			on.violate(k.name)
		}
	}
	n := &node{}
	if k.value() != true { // which it can be in draft 4, too
		n = k.subschema()
	}
	return func(on *instance, name string, value any) { on.addPart(name, value, n) }
}

func propertyNames(k keyword) check {
	n := k.subschema()
	return func(on *instance) {
		for name := range on.properties() {
			on.add(n.apply(name, on.at, false).violations)
		}
	}
}

func dependencies(k keyword) check {
	return k.forEach(func(property keyword) check {
		if kindOf(property.value()) == "array" {
			return property.requiredAs("dependency/" + property.name)
		}
		return whole(property)
	})
}

func dependentRequired(k keyword) check {
	return k.forEach(func(property keyword) check { return property.requiredAs(k.name + "/" + property.name) })
}

func dependentSchemas(k keyword) check { return k.forEach(whole) }

// forEach compiles a keyword that says, by name, what applies to an object that has a property.
func (k keyword) forEach(compile func(property keyword) check) check {
	all := map[string]check{}
	for name := range k.object() {
		all[name] = compile(k.within(name))
	}
	return func(on *instance) {
		for name := range on.properties() {
			if run := all[name]; run != nil {
				run(on)
			}
		}
	}
}

func unevaluatedProperties(k keyword) check {
	n := k.subschema()
	return func(on *instance) {
		for name, value := range on.properties() {
			if !on.evaluated[name] {
				on.addPart(name, value, n)
			}
		}
	}
}

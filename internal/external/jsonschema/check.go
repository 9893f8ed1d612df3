package jsonschema

import (
	"maps"
)

// A node is a compiled schema or subschema. It is immutable.
type node struct {
	checks      []check
	decisive    int  // of the checks, how many end it with a violation: the others expect the right type
	unevaluated bool // a check is about what the others have not evaluated
}

// A check adds the violations of one keyword.
type check func(*instance)

// An instance is a value while one node checks it.
type instance struct {
	value      any
	at         path
	violations []violation
	evaluated  map[string]bool // the properties or indexes that checks were about; nil if no keyword asks for them
}

// A violation is of a keyword; "" for a condition without a name.
type violation struct {
	at      path
	keyword string
}

// apply checks a value. It tracks what it evaluates if its caller or one of its own checks asks for that.
func (n *node) apply(value any, at path, track bool) *instance {
	on := &instance{value: value, at: at}
	if track || n.unevaluated {
		on.evaluated = map[string]bool{}
	}
	for i, c := range n.checks {
		if c(on); i < n.decisive && len(on.violations) > 0 {
			break
		}
	}
	return on
}

func (on *instance) violate(keyword string) {
	on.violations = append(on.violations, violation{on.at, keyword})
}

func (on *instance) add(all []violation) { on.violations = append(on.violations, all...) }

// whole returns how the value itself violates a subschema. What a subschema without violations has evaluated is evaluated.
func (on *instance) whole(n *node) []violation {
	other := n.apply(on.value, on.at, on.evaluated != nil)
	if len(other.violations) == 0 && on.evaluated != nil {
		maps.Copy(on.evaluated, other.evaluated)
	}
	return other.violations
}

// addPart adds how a part of the value violates a subschema. The part is evaluated in any case.
func (on *instance) addPart(name string, value any, n *node) {
	on.evaluate(name)
	on.add(n.apply(value, on.at.to(name), false).violations)
}

func (on *instance) evaluate(name string) {
	if on.evaluated != nil {
		on.evaluated[name] = true
	}
}

// properties are those of an object; other values have none.
func (on *instance) properties() map[string]any {
	object, _ := on.value.(map[string]any)
	return object
}

// items are those of an array; other values have none.
func (on *instance) items() []any {
	array, _ := on.value.([]any)
	return array
}

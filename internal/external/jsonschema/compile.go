package jsonschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A compiler compiles the parts of one schema, and collects the faults in them.
type compiler struct {
	draft      int
	vocabulary []definition
	faults     []string
}

func (c *compiler) node(at path, schema any) *node {
	n := &node{}
	switch s := schema.(type) {
	case bool:
		if c.draft == 4 {
			c.fault(at, schema, "use an object, as draft 4 has no other schemas")
		}
		if !s {
			n.checks = []check{func(on *instance) { on.violate("") }}
		}
	case map[string]any:
		c.object(n, at, s)
	default:
		c.fault(at, schema, "use a schema: an object, or true or false")
	}
	return n
}

func (c *compiler) object(n *node, at path, schema map[string]any) {
	for _, d := range c.vocabulary {
		if _, ok := schema[d.name]; !ok || c.draft < d.first || c.draft > d.last {
			continue
		}
		run := d.compile(keyword{c, schema, at, d.name})
		if run == nil {
			continue
		}
		n.checks = append(n.checks, run)
		n.unevaluated = n.unevaluated || strings.HasPrefix(d.name, "unevaluated")
		if slices.Contains([]string{"type", "const", "enum"}, d.name) {
			n.decisive++
		}
	}
}

// fault says what to do about a value in the schema.
func (c *compiler) fault(at path, value any, do string) {
	text, _ := json.Marshal(value) // it was decoded from JSON
	c.faults = append(c.faults, fmt.Sprintf("%s is %.60s: %s", at.pointer(), text, do))
}

// draftOf returns the draft that a schema names; the latest if it names none, or none that is known.
func draftOf(schema any) int {
	s, _ := schema.(map[string]any)
	url, _ := s["$schema"].(string)
	return cmp.Or(draftAt(url), latest)
}

// draftAt returns the draft that has a URL, or 0 if the URL is unknown.
func draftAt(url string) int {
	return map[string]int{
		"json-schema.org/draft-04/schema": 4, "json-schema.org/draft-06/schema": 6, "json-schema.org/draft-07/schema": 7,
		"json-schema.org/draft/2019-09/schema": 2019, "json-schema.org/draft/2020-12/schema": 2020, "json-schema.org/schema": latest,
	}[strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(url, "#"), "http://"), "https://")]
}

// dialect is the keyword $schema. Parts of a schema have its draft, whichever they name.
func dialect(k keyword) check {
	if draftAt(k.text()) == 0 {
		k.fault("it is not loaded, so use http://json-schema.org/draft-04/schema#, draft-06 or draft-07, or https://json-schema.org/draft/2019-09/schema or 2020-12")
	}
	return nil
}

// reference is a keyword that refers to another schema, or lets others refer to this one.
func reference(k keyword) check {
	if _, isText := k.value().(string); isText || k.name != "id" { // which only draft 4 has
		k.fault("the schema has " + k.name + ": write the schema where it is used")
	}
	return nil
}

// A keyword is one in a schema. Its methods return its value as a type, and a useless one after a fault.
type keyword struct {
	*compiler

	siblings map[string]any // and itself
	in       path           // of the schema
	name     string
}

func (k keyword) value() any { return k.siblings[k.name] }

func (k keyword) at() path { return k.in.to(k.name) }

func (k keyword) fault(do string) { k.compiler.fault(k.at(), k.value(), do) }

// within returns a key of the value, which is an object.
func (k keyword) within(name string) keyword { return keyword{k.compiler, k.object(), k.at(), name} }

// sibling returns another keyword of the schema, which need not exist.
func (k keyword) sibling(name string) keyword { return keyword{k.compiler, k.siblings, k.in, name} }

func (k keyword) exists() bool { _, ok := k.siblings[k.name]; return ok }

func (k keyword) text() string           { return as[string](k, "text") }
func (k keyword) flag() bool             { return as[bool](k, "true or false") }
func (k keyword) list() []any            { return as[[]any](k, "a list") }
func (k keyword) object() map[string]any { return as[map[string]any](k, "an object") }

func as[T any](k keyword, what string) T {
	v, ok := k.value().(T)
	if !ok {
		k.fault("use " + what)
	}
	return v
}

// names returns a list of texts, of which no two are equal.
func (k keyword) names() []string {
	var all []string
	before := map[string]bool{}
	for _, e := range k.list() {
		name, ok := e.(string)
		if !ok || before[name] {
			k.fault("use different texts")
			return nil
		}
		before[name] = true
		all = append(all, name)
	}
	if len(all) == 0 && k.draft == 4 {
		k.fault("use at least one text, as draft 4 requires")
	}
	return all
}

func (k keyword) subschema() *node { return k.node(k.at(), k.value()) }

// subschemas returns a list of at least one.
func (k keyword) subschemas() []*node {
	list := k.list()
	if len(list) == 0 {
		k.fault("use at least one schema")
	}
	all := make([]*node, len(list))
	for i, e := range list {
		all[i] = k.node(k.at().to(strconv.Itoa(i)), e)
	}
	return all
}

// named returns subschemas by their names.
func (k keyword) named() map[string]*node {
	all := map[string]*node{}
	for name := range k.object() {
		all[name] = k.within(name).subschema()
	}
	return all
}

// require is a check that holds for all values, whatever their type.
func (k keyword) require(holds func(value any) bool) check {
	return func(on *instance) {
		if !holds(on.value) {
			on.violate(k.name)
		}
	}
}

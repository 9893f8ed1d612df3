// Package jsonschema checks values by JSON schemas of any draft that users bring.
//
// A check takes time in proportion to the schema and the value: schemas have no references, so that no small schema can
// stand for a very large one, and patterns use the syntax of package regexp.
package jsonschema

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	// It knows all drafts from 4 to 2020-12.
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A Schema is a compiled schema. Safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// references are keywords that refer to other schemas.
func references() []string {
	return []string{"$ref", "$dynamicRef", "$recursiveRef", "$id", "id", "$anchor", "$dynamicAnchor"}
}

// Compile compiles a schema without references. Nothing is loaded.
func Compile(raw []byte) (*Schema, error) {
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("cannot read the schema: %w", err)
	}
	if err := noReferences(tree, false); err != nil {
		return nil, err
	}
	if hasHugeNumber(tree) {
		return nil, errors.New("the schema has a number of too many digits")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	const name = "urn:schema"
	if err := c.AddResource(name, tree); err != nil {
		return nil, fmt.Errorf("cannot use the schema: %w", err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot use the schema: %s", strings.ReplaceAll(err.Error(), name+"#", ""))
	}
	return &Schema{compiled}, nil
}

// noReferences returns an error if a schema refers to another one. The keys of names are not keywords.
func noReferences(tree any, names bool) error {
	switch t := tree.(type) {
	case []any:
		for _, e := range t {
			if err := noReferences(e, false); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(t)) {
			if err := noReferencesIn(t, key, names); err != nil {
				return err
			}
		}
	}
	return nil
}

func noReferencesIn(t map[string]any, key string, names bool) error {
	if names {
		return noReferences(t[key], false)
	}
	_, isText := t[key].(string)
	switch {
	case isText && slices.Contains(references(), key):
		return fmt.Errorf("the schema has %s: write the schema where it is used", key)
	case slices.Contains([]string{"const", "enum", "default", "examples"}, key): // values
		return nil
	}
	return noReferences(t[key], slices.Contains([]string{"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}, key))
}

// refuse loads nothing.
type refuse struct{}

// Load implements [jsonschema.URLLoader].
func (refuse) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not loaded", url) }

// Check returns where a value violates the schema, and which keywords. It quotes no part of the value, which may be
// secret. Numbers in the value can be [encoding/json.Number].
func (s *Schema) Check(value any) error { return s.CheckAt("", value) }

// CheckAt is Check for a value that is an attribute of this name.
func (s *Schema) CheckAt(name string, value any) error {
	if hasHugeNumber(value) {
		return fmt.Errorf("%s has a number of too many digits", instancePath(name, nil))
	}
	err := s.compiled.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var all []string
	for _, l := range leaves(invalid) {
		keyword := cmp.Or(strings.Join(l.ErrorKind.KeywordPath(), "/"), "a condition")
		all = append(all, fmt.Sprintf("%s violates %s of the schema", instancePath(name, l.InstanceLocation), keyword))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	const most = 5
	if n := len(all) - most; n > 0 {
		all = append(all[:most], fmt.Sprintf("%d more", n))
	}
	return errors.New(strings.Join(all, "; "))
}

// leaves are the errors without causes.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, c := range e.Causes {
		all = append(all, leaves(c)...)
	}
	return all
}

func instancePath(name string, location []string) string {
	if name != "" {
		location = append([]string{name}, location...)
	}
	if len(location) == 0 {
		return "the combination of properties"
	}
	return strings.Join(location, ".")
}

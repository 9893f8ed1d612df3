// Package jsonschema checks values by JSON schemas of any draft that users bring.
//
// A check takes time in proportion to the schema and the value: schemas have no references, so that no small schema can
// stand for a very large one, and patterns use the syntax of package regexp. Formats are annotations, as in the latest draft.
//
// The tests compare it with santhosh-tekuri/jsonschema, which compiles its meta-schemas at each start of a program.
package jsonschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Schema is a compiled schema. Safe for concurrent use.
type Schema struct{ root *node }

// Compile compiles a schema without references. Nothing is loaded.
func Compile(raw []byte) (*Schema, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("cannot read the schema: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("cannot read the schema: something follows it")
	}
	return CompileValue(tree)
}

// CompileValue is Compile for a schema that was decoded from JSON, with numbers of the type [json.Number].
func CompileValue(tree any) (*Schema, error) {
	if hasHugeNumber(tree) {
		return nil, errors.New("the schema has a number of too many digits")
	}
	c := &compiler{draft: draftOf(tree), vocabulary: vocabulary()}
	root := c.node(nil, tree)
	if len(c.faults) > 0 {
		return nil, fmt.Errorf("cannot use the schema: %s", firstOf(c.faults))
	}
	return &Schema{root}, nil
}

// Check returns where a value violates the schema, and which keywords. It quotes no part of the value, which may be
// secret. Numbers in the value can be [encoding/json.Number].
func (s *Schema) Check(value any) error { return s.CheckAt("", value) }

// CheckAt is Check for a value that is an attribute of this name.
func (s *Schema) CheckAt(name string, value any) error {
	var at path
	if name != "" {
		at = path{name}
	}
	if hasHugeNumber(value) {
		return fmt.Errorf("%s has a number of too many digits", at)
	}
	var all []string
	for _, v := range s.root.apply(value, at, false).violations {
		all = append(all, fmt.Sprintf("%s violates %s of the schema", v.at, cmp.Or(v.keyword, "a condition")))
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(firstOf(all))
}

// firstOf joins the first few of different texts, and counts the others.
func firstOf(all []string) string {
	slices.Sort(all)
	all = slices.Compact(all)
	const most = 5
	if n := len(all) - most; n > 0 {
		all = append(all[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(all, "; ")
}

// A path leads to a part of a value or of a schema, by names and indexes.
type path []string

func (p path) to(name string) path { return append(slices.Clip(p), name) }

// String is the path in a value, as people write it.
func (p path) String() string {
	if len(p) == 0 {
		return "the combination of properties"
	}
	return strings.Join(p, ".")
}

// pointer is the path in a schema, as a JSON pointer.
func (p path) pointer() string {
	var b strings.Builder
	for _, name := range p {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return cmp.Or(b.String(), "it")
}

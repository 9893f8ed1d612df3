package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/jsonschema"
)

// Conforms returns an error if the schema of an attribute excludes a value that was decoded from JSON, with numbers of the
// type [json.Number]: its type, enum, ranges and patterns. API servers also check formats and rules. The error names the
// attribute and the keyword, and quotes no part of the value. Text of an attribute that ignores case may be in any case.
func (d *Definition) Conforms(at *v1alpha1.ExternalAttribute, value any) error {
	schema := d.schemas[at.Name]
	if schema == nil {
		return nil
	}
	err := schema.CheckAt(at.Name, value)
	text, isText := value.(string)
	if err == nil || !isText || !at.CaseInsensitive {
		return err
	}
	same := func(v any) bool { other, ok := v.(string); return ok && strings.EqualFold(other, text) }
	if slices.ContainsFunc(Enum(at), same) || schema.CheckAt(at.Name, strings.ToLower(text)) == nil {
		return nil
	}
	return err
}

// compiled returns the schemas of attributes by their names, without those that no definition can have: crdbuild reports them.
func compiled(attributes []v1alpha1.ExternalAttribute) map[string]*jsonschema.Schema {
	all := map[string]*jsonschema.Schema{}
	for i := range attributes {
		at := &attributes[i]
		if schema, err := compileOne(at.Schema.Raw); err == nil {
			all[at.Name] = schema
		}
	}
	return all
}

func compileOne(raw []byte) (*jsonschema.Schema, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("cannot read the schema: %w", err)
	}
	return jsonschema.CompileValue(portable(tree))
}

// portable returns a structural schema as a JSON schema. It leaves out formats, whose meaning differs between the two, and
// the extensions of Kubernetes, except for those that allow more than the type does.
func portable(tree any) any {
	s, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	out := map[string]any{}
	for key, value := range s {
		switch {
		case key == "format", key == "nullable", key == "default", key == "example", strings.HasPrefix(key, "x-kubernetes-"):
		case key == "properties":
			out[key] = portableFields(value)
		case key == "items", key == "additionalProperties", key == "not":
			out[key] = portable(value)
		case key == "allOf", key == "anyOf", key == "oneOf":
			out[key] = portableAll(value)
		default:
			out[key] = value
		}
	}
	exclude(out, "minimum", "exclusiveMinimum")
	exclude(out, "maximum", "exclusiveMaximum")
	if s["x-kubernetes-int-or-string"] == true {
		out["type"] = []any{"integer", "string"}
	}
	if s["nullable"] == true {
		return map[string]any{"anyOf": []any{map[string]any{"type": "null"}, out}}
	}
	return out
}

// exclude replaces a boolean, as in the first drafts of JSON Schema, by the limit itself.
func exclude(schema map[string]any, limit, exclusive string) {
	if is, ok := schema[exclusive].(bool); ok {
		if delete(schema, exclusive); is && schema[limit] != nil {
			schema[exclusive] = schema[limit]
		}
	}
}

func portableFields(value any) any {
	fields, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := map[string]any{}
	for name, field := range fields {
		out[name] = portable(field)
	}
	return out
}

func portableAll(value any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = portable(e)
	}
	return out
}

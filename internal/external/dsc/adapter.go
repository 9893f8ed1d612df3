package dsc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// An Instance is a resource in the configuration that an adapter gets.
type Instance struct {
	Name       string
	Type       string
	Properties State // nil for none
}

// TakesConfiguration reports whether the commands of an adapter get a configuration, rather than the properties of one
// resource.
func (m *Manifest) TakesConfiguration() bool {
	return m.Adapter != nil && m.Adapter.InputKind != InputSingle
}

// Configuration returns the input of an adapter that takes one, as dsc writes it: an adapter of the kind full also learns
// that it gets a configuration.
func (m *Manifest) Configuration(all []Instance) State {
	resources := make([]any, len(all))
	for i, r := range all {
		one := map[string]any{"name": r.Name, "type": r.Type}
		if r.Properties != nil {
			one["properties"] = map[string]any(r.Properties)
		}
		resources[i] = one
	}
	s := State{"resources": resources}
	if m.Adapter.InputKind == InputFull {
		s["metadata"] = map[string]any{"Microsoft.DSC": map[string]any{"context": "configuration"}}
	}
	return s
}

// Results are what an adapter that takes a configuration answers.
type Results struct {
	States []State // in the order of the instances
	// InDesiredState is the verdict of a test about all of them; nil for none.
	InDesiredState *bool
}

// Results reads the answer of an adapter about instances: exactly one result for each, in their order.
func (m *Manifest) Results(output []byte, sent []Instance) (r Results, err error) {
	document, err := Document(output)
	if err != nil {
		return r, err
	}
	if r.InDesiredState, err = boolean(document, InDesiredState); err != nil {
		return r, err
	}
	list, ok := document["result"].([]any)
	if !ok {
		return r, fmt.Errorf("the output has no result: an adapter with inputKind %s prints {\"result\": [...]}", m.Adapter.InputKind)
	}
	if len(list) != len(sent) {
		return r, fmt.Errorf("the output has %d results for %d resources", len(list), len(sent))
	}
	r.States = make([]State, len(list))
	for i, e := range list {
		if r.States[i], err = sent[i].resultIn(e); err != nil {
			return r, fmt.Errorf("result %d: %w", i+1, err)
		}
	}
	return r, nil
}

// resultIn returns the state in a result, which must belong to this instance.
func (r Instance) resultIn(result any) (State, error) {
	object, _ := result.(map[string]any)
	properties, ok := object["properties"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it has no properties")
	}
	if name, ok := object["name"].(string); ok && name != "" && name != r.Name {
		return nil, fmt.Errorf("it is that of %.80q, but %.80q was asked for", name, r.Name)
	}
	if kind, ok := object["type"].(string); ok && kind != "" && !strings.EqualFold(kind, r.Type) {
		return nil, fmt.Errorf("it has the type %.80q, but %.80q was asked for", kind, r.Type)
	}
	return properties, nil
}

// Exported reads the rows of an export: a state in each line, or the lists of an adapter that takes a configuration.
func (m *Manifest) Exported(output []byte) ([]State, error) {
	rows, err := Documents(output)
	if err != nil || !m.TakesConfiguration() {
		return rows, err
	}
	var all []State
	for i, row := range rows {
		list, ok := row["result"].([]any)
		if !ok {
			return nil, fmt.Errorf("line %d: the output has no result: an adapter with inputKind %s prints {\"result\": [...]}", i+1, m.Adapter.InputKind)
		}
		for _, e := range list {
			object, ok := e.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("line %d: a result is not an object", i+1)
			}
			if properties, ok := object["properties"].(map[string]any); ok && object["type"] != nil {
				object = properties
			}
			all = append(all, object)
		}
	}
	return all, nil
}

// An Adapted is the manifest of an adapted resource, or a line in the list of an adapter.
type Adapted struct {
	Type           string          `json:"type"`
	Kind           string          `json:"kind"`
	Version        string          `json:"version"`
	Description    string          `json:"description"`
	Deprecation    string          `json:"deprecationMessage"`
	Condition      string          `json:"condition"`
	Path           string          `json:"path"`
	Content        json.RawMessage `json:"content"`
	Capabilities   []string        `json:"capabilities"`
	Properties     []string        `json:"properties"`
	RequireAdapter string          `json:"requireAdapter"`
	Schema         json.RawMessage `json:"schema"`

	Needs []string `json:"-"` // as in [Manifest]
}

// ParseAdapted reads the manifest of an adapted resource, in JSON.
func ParseAdapted(text []byte) (*Adapted, error) {
	var a Adapted
	if err := decode(text, &a); err != nil {
		return nil, fmt.Errorf("it is not a manifest of an adapted DSC resource: %w", err)
	}
	c := &checker{}
	c.add(typeName.MatchString(a.Type), "type %.80q is not a name such as Example.Group/Service", a.Type)
	c.add(a.Kind == "" || a.Kind == "resource", "kind %.40q is refused: an adapted resource has the kind resource", a.Kind)
	c.add(a.RequireAdapter != "", "requireAdapter is missing: name the type of the adapter")
	c.add(a.Path == "" || len(a.Content) == 0, "path and content exclude each other")
	if err := a.normalize(); err != nil {
		c.faults = append(c.faults, err)
	}
	return &a, c.err()
}

// ParseListed reads a line of the list of an adapter.
func ParseListed(line []byte) (*Adapted, error) {
	var a Adapted
	if err := json.Unmarshal(line, &a); err != nil {
		return nil, err
	}
	return &a, a.normalize()
}

// normalize unwraps the schema, which some manifests embed as a resource does, and finds the needs.
func (a *Adapted) normalize() (err error) {
	var wrapped struct {
		Embedded json.RawMessage `json:"embedded"`
	}
	if json.Unmarshal(a.Schema, &wrapped) == nil && len(wrapped.Embedded) > 0 {
		a.Schema = wrapped.Embedded
	}
	if bytes.Equal(bytes.TrimSpace(a.Schema), []byte("null")) {
		a.Schema = nil
	}
	a.Description = described(a.Description, a.Deprecation)
	a.Needs, err = Needs(a.Condition)
	return err
}

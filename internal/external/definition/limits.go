package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Limits of the schemas of a type. A schema within them compiles in a second, in every program of Fettle and in an API server.
const (
	maxDepth    = 64       // objects and lists in each other, in one schema
	maxValues   = 10_000   // keys and values in the schemas of all attributes
	maxRules    = 128      // expressions in them
	maxRuleText = 32 << 10 // their length in bytes
	maxDSC      = 50_000   // keys and values in the manifest or the JSON schema of a DSC resource
)

// A size is how large schemas are.
type size struct{ values, rules, ruleText int }

// checkLimits returns the first schema that exceeds a limit. It takes time in proportion to the limits, whatever the schemas are.
func checkLimits(s *v1alpha1.ExternalTypeSpec) error {
	var all size
	for _, r := range s.Rules {
		all.rules++
		all.ruleText += len(r.Rule)
	}
	for i := range s.Attributes {
		a := &s.Attributes[i]
		if a.Schema == nil {
			continue
		}
		field := fmt.Sprintf("spec.attributes[%s].schema", a.Name)
		if err := all.add(field, a.Schema.Raw); err != nil {
			return err
		}
		if all.values > maxValues {
			return fmt.Errorf("%s and the schemas before it have more than %d keys and values: describe less of the attributes", field, maxValues)
		}
		var schema any
		if err := json.Unmarshal(a.Schema.Raw, &schema); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		all.addRules(schema)
		switch {
		case all.rules > maxRules:
			return fmt.Errorf("%s and the schemas before it have more than %d rules, with spec.rules: join some, or leave them to the program", field, maxRules)
		case all.ruleText > maxRuleText:
			return fmt.Errorf("%s and the schemas before it have rules of more than %d KiB, with spec.rules: leave some to the program", field, maxRuleText>>10)
		}
	}
	return checkDSC(s.DSC)
}

func checkDSC(d *v1alpha1.ExternalDSC) error {
	if d == nil {
		return nil
	}
	parts := map[string][]byte{}
	if d.Manifest != nil {
		parts["spec.dsc.manifest"] = d.Manifest.Raw
	}
	if d.Schema != nil {
		parts["spec.dsc.schema"] = d.Schema.Raw
	}
	for field, raw := range parts {
		var one size
		if err := one.add(field, raw); err != nil {
			return err
		}
		if one.values > maxDSC {
			return fmt.Errorf("%s has more than %d keys and values: describe less of the properties", field, maxDSC)
		}
	}
	return nil
}

// add adds the size of a schema. The error says that it is too deep, or no JSON.
func (s *size) add(field string, raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for depth := 0; s.values <= maxDSC; {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", field, err)
		}
		s.values++
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
			s.values--
		}
		if depth > maxDepth {
			return fmt.Errorf("%s has more than %d objects and lists in each other: describe the inner ones less", field, maxDepth)
		}
	}
	return nil
}

// addRules adds the rules of a schema.
func (s *size) addRules(schema any) {
	switch v := schema.(type) {
	case []any:
		for _, e := range v {
			s.addRules(e)
		}
	case map[string]any:
		rules, _ := v["x-kubernetes-validations"].([]any)
		for _, r := range rules {
			rule, _ := r.(map[string]any)
			text, _ := rule["rule"].(string)
			s.rules++
			s.ruleText += len(text)
		}
		for _, e := range v {
			s.addRules(e)
		}
	}
}

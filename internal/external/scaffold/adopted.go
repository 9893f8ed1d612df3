package scaffold

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/DataDog/datadog-agent/pkg/template/text"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Adopted returns type.yaml for a type of another tool. The spec has what the tool knows, and example the attributes of the
// example.
func Adopted(spec v1alpha1.ExternalTypeSpec, example map[string]any) (string, error) {
	if !kindName().MatchString(spec.Kind) {
		return "", kindError(spec.Kind)
	}
	text, err := templates.ReadFile("templates/adopted.yaml")
	if err != nil {
		return "", err
	}
	t, err := template.New(TypeFile).Funcs(template.FuncMap{"json": asJSON}).Parse(string(text))
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{"Spec": spec, "Example": example, "Plural": plural(spec.Kind)})
	return out.String(), err
}

// asJSON returns a value as JSON, which is YAML in one line.
func asJSON(value any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "", fmt.Errorf("cannot encode a description: %w", err)
	}
	return string(bytes.TrimSpace(out.Bytes())), nil
}

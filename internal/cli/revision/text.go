package revision

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/config/crd"
)

// What takes the place of a secret. The second one is for a value that differs from the one before.
const (
	redacted        = "[redacted]"
	redactedAnother = "[redacted: another value]"
)

// A Secrets lists the sensitive attributes of external kinds.
type Secrets map[string][]string

// fields returns what people compare of a resource, apart from its name.
func (r *Resource) fields() map[string]any {
	fields := map[string]any{}
	if r == nil {
		return fields
	}
	if r.Entry != nil {
		raw, _ := json.Marshal(r.Entry) // it was decoded from JSON
		_ = json.Unmarshal(raw, &fields)
	}
	delete(fields, "kind")
	delete(fields, "name")
	fields["nodeSelector"] = selectorOf(r)
	if r.Targeting.When != "" {
		fields["when"] = r.Targeting.When
	}
	if r.Targeting.AcceptSelfLabelledNodes {
		fields["acceptSelfLabelledNodes"] = true
	}
	if r.Deleting {
		fields["deleting"] = true
	}
	if r.Fault != nil {
		fields["withheld"] = r.Fault.Why()
	}
	return fields
}

func selectorOf(r *Resource) *metav1.LabelSelector {
	if r.Targeting.NodeSelector == nil {
		return &metav1.LabelSelector{}
	}
	return r.Targeting.NodeSelector
}

// redact replaces the sensitive attributes of a kind before and after a change.
func (s Secrets) redact(kind string, was, is map[string]any) {
	names := append(passwordsOf(kind), s[kind]...)
	before, after := attributesOf(was), attributesOf(is)
	for i := range before {
		for _, name := range names {
			old, had := before[i][name]
			now, has := after[i][name]
			if had {
				before[i][name] = redacted
			}
			if has {
				after[i][name] = redacted
			}
			if had && has && !reflect.DeepEqual(old, now) {
				after[i][name] = redactedAnother
			}
		}
	}
}

// attributesOf returns the attributes of an entry: those of a built-in kind, and those of an external one, which are below properties.
func attributesOf(entry map[string]any) [2]map[string]any {
	own, _ := entry["attributes"].(map[string]any)
	external, _ := own["properties"].(map[string]any)
	return [2]map[string]any{own, external}
}

// passwordsOf returns the sensitive attributes of a built-in kind.
func passwordsOf(kind string) (names []string) {
	c, err := crd.Of(kind)
	if err != nil { // it is an external kind
		return nil
	}
	for name, schema := range c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties {
		if schema.Format == "password" {
			names = append(names, name)
		}
	}
	return names
}

// yamlOf returns fields as people read them; "" if there are none.
func yamlOf(fields map[string]any) string {
	if len(fields) == 0 {
		return ""
	}
	raw, _ := yaml.Marshal(fields) // they were decoded from JSON
	return string(raw)
}

package definition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

func TestValuesConformToTheirSchemas(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ schema, good, bad, violated string }{
		{`{"type":"string"}`, `"a"`, `1`, "type"},
		{`{"type":"string","enum":["a","b"]}`, `"b"`, `"c"`, "enum"},
		{`{"type":"string","pattern":"^[a-z]+$"}`, `"a"`, `"A"`, "pattern"},
		{`{"type":"string","maxLength":2}`, `"äö"`, `"abc"`, "maxLength"},
		{`{"type":"string","format":"duration"}`, `"1h"`, `true`, "type"},
		{`{"type":"integer","minimum":1}`, `1`, `0`, "minimum"},
		{`{"type":"integer","maximum":9007199254740993}`, `9007199254740993`, `9007199254740994`, "maximum"},
		{`{"type":"number","minimum":0,"exclusiveMinimum":true}`, `0.1`, `0`, "exclusiveMinimum"},
		{`{"type":"number","maximum":1,"exclusiveMaximum":false}`, `1`, `1.5`, "maximum"},
		{`{"type":"integer"}`, `60.0`, `60.5`, "type"},
		{`{"type":"array","minItems":1,"items":{"type":"string","pattern":"^a"}}`, `["a"]`, `["b"]`, "pattern"},
		{`{"type":"object","required":["x"],"properties":{"x":{"type":"boolean"}}}`, `{"x":true}`, `{}`, "required"},
		{`{"type":"object","properties":{"format":{"type":"string"}}}`, `{"format":"x"}`, `{"format":1}`, "type"},
		{`{"type":"object","additionalProperties":{"type":"integer","minimum":3}}`, `{"a":3}`, `{"a":2}`, "minimum"},
		{`{"x-kubernetes-int-or-string":true}`, `"80%"`, `[]`, "type"},
		{`{"type":"string","nullable":true,"enum":["a"]}`, `null`, `"b"`, "enum"},
		{`{"type":["string","boolean"],"maxLength":1}`, `true`, `"ab"`, "maxLength"},
		{`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `["a"]`, `[1]`, "type"},
		{`{"type":"number"}`, `1e300`, `1e999999999`, "too many digits"},
	} {
		d := oneAttribute(t, c.schema)
		at := &d.Spec.Attributes[1]
		if err := d.Conforms(at, decoded(t, c.good)); err != nil {
			t.Errorf("%s excludes %s: %v", c.schema, c.good, err)
		}
		err := d.Conforms(at, decoded(t, c.bad))
		if err == nil || !strings.HasPrefix(err.Error(), "value") || !strings.Contains(err.Error(), c.violated) {
			t.Errorf("%s and %s: %v, want %s", c.schema, c.bad, err, c.violated)
		}
	}
}

func TestTextThatIgnoresCaseConformsInAnyCase(t *testing.T) {
	t.Parallel()

	for schema, bad := range map[string]string{`{"type":"string","enum":["Red"]}`: "blue", `{"type":"string","pattern":"^[a-z]+$"}`: "R3D"} {
		d := oneAttribute(t, schema)
		at := &d.Spec.Attributes[1]
		if d.Conforms(at, "RED") == nil {
			t.Errorf("%s has the case of no value", schema)
		}
		at.CaseInsensitive = true
		if err := d.Conforms(at, "RED"); err != nil {
			t.Error(err)
		}
		if d.Conforms(at, bad) == nil {
			t.Errorf("%s does not exclude %s", schema, bad)
		}
	}
}

// oneAttribute returns a type whose attribute value has this schema.
func oneAttribute(t *testing.T, schema string) *definition.Definition {
	t.Helper()
	attribute := func(name, schema string) v1alpha1.ExternalAttribute {
		return v1alpha1.ExternalAttribute{Name: name, Description: "x", Schema: &runtime.RawExtension{Raw: []byte(schema)}}
	}
	typ := &v1alpha1.ExternalType{Spec: v1alpha1.ExternalTypeSpec{
		Kind: "Thing", Version: "1", Description: "x",
		Attributes: []v1alpha1.ExternalAttribute{attribute("name", `{"type":"string"}`), attribute("value", schema)},
		Providers:  []v1alpha1.ExternalProvider{{Name: "p", Command: []string{"p"}}}, Source: v1alpha1.ExternalSource{HostPath: "/p"},
	}}
	typ.Name, typ.Spec.Attributes[0].Behaviour = "things", v1alpha1.BehaviourNamevar
	d, err := definition.New(typ)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

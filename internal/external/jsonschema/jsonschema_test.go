package jsonschema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/jsonschema"
)

func TestSchemasThatLoadOrReferAreRefused(t *testing.T) {
	t.Parallel()

	for schema, want := range map[string]string{
		`{"properties":{"a":{"$ref":"#/x"}}}`:     "the schema has $ref",
		`{"allOf":[{"$dynamicRef":"#x"}]}`:        "the schema has $dynamicRef",
		`{"$schema":"https://example.com/meta"}`:  "is not loaded",
		`{"pattern":"(?=x)"}`:                     "cannot use the schema",
		`{"type":"wrong"}`:                        "cannot use the schema",
		`{`:                                       "cannot read the schema",
		`{"maximum":1e1000000000}`:                "the schema has a number of too many digits",
		`{"dependencies":{"const":{"$ref":"x"}}}`: "the schema has $ref",
	} {
		if _, err := jsonschema.Compile([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
	for _, schema := range []string{
		`{"properties":{"$ref":{"type":"string"},"id":{"type":"string"}}}`, `{"const":{"$ref":"x"}}`, `true`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`,
	} {
		if _, err := jsonschema.Compile([]byte(schema)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestViolationsNameThePlaceAndNoValue(t *testing.T) {
	t.Parallel()

	s, err := jsonschema.Compile([]byte(`{"properties":{"a":{"properties":{"b":{"type":"string","pattern":"^x$"}}},"n":{"maximum":3}},"oneOf":[{"required":["a"]},{"required":["n"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"a":{"b":"x"}}`:      "",
		`{"n":3}`:              "",
		`{"a":{"b":"s3cret"}}`: "a.b violates pattern of the schema",
		`{"n":4}`:              "n violates maximum of the schema",
		`{"n":1e1000000000}`:   "the combination of properties has a number of too many digits",
		`{}`:                   "the combination of properties violates required of the schema",
	} {
		d := json.NewDecoder(strings.NewReader(value))
		d.UseNumber()
		var tree any
		if err := d.Decode(&tree); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := s.Check(tree); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

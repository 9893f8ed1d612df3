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

func TestFaultsOfSchemasNameThePlaceAndWhatToWrite(t *testing.T) {
	t.Parallel()

	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":"strin"}}}`:          `/properties/a/type is "strin": use array, boolean, integer, null, number, object or string, or a list of different ones`,
		`{"minimum":"3"}`:                                `/minimum is "3": use a number`,
		`{"allOf":[{},{"minLength":-1}]}`:                `/allOf/1/minLength is -1: use an integer of at least 0`,
		`{"patternProperties":{"a/b~(":{}}}`:             "/patternProperties/a~1b~0( is {}: use the syntax of RE2: error parsing regexp: missing closing ): `a/b~(`",
		`{"pattern":"(?=x)"}`:                            "/pattern is \"(?=x)\": use the syntax of RE2: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
		`{"required":["a","a"],"multipleOf":0,"not":[]}`: `/multipleOf is 0: use a number above 0; /not is []: use a schema: an object, or true or false; /required is ["a","a"]: use different texts`,
		`{"items":{"$ref":"#/x"}}`:                       `/items/$ref is "#/x": the schema has $ref: write the schema where it is used`,
		`{"$ref":1}`:                                     `/$ref is 1: the schema has $ref: write the schema where it is used`,
		`{"$schema":"https://example.com/meta"}`:         `/$schema is "https://example.com/meta": it is not loaded, so use http://json-schema.org/draft-04/schema#, draft-06 or draft-07, or https://json-schema.org/draft/2019-09/schema or 2020-12`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"properties":{"a":true},"exclusiveMaximum":true}`: `/exclusiveMaximum is true: add maximum; /properties/a is true: use an object, as draft 4 has no other schemas`,
		`{"title":[` + strings.Repeat(`"ä",`, 20) + `1]}`:                                                                   `/title is [` + strings.Repeat(`"ä",`, 14) + `"ä": use text`,
		`1`: "it is 1: use a schema: an object, or true or false",
	} {
		if _, err := jsonschema.Compile([]byte(schema)); err == nil || err.Error() != "cannot use the schema: "+want {
			t.Errorf("%s:\n %v, want\n %s", schema, err, want)
		}
	}
}

func TestPlacesBeginWithTheNameOfTheAttribute(t *testing.T) {
	t.Parallel()

	s, err := jsonschema.Compile([]byte(`{"type":"object","propertyNames":{"maxLength":2},"additionalProperties":{"items":{"type":"null"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`1`:                        "at violates type of the schema",
		`{"abc":[]}`:               "at violates maxLength of the schema",
		`{"äö":[null,1]}`:          "at.äö.1 violates type of the schema",
		`{"/~":[1]}`:               "at./~.0 violates type of the schema",
		`{"a":[1,1,1,1,1,1,1,""]}`: "at.a.0 violates type of the schema; at.a.1 violates type of the schema; at.a.2 violates type of the schema; at.a.3 violates type of the schema; at.a.4 violates type of the schema; 3 more",
	} {
		if err := s.CheckAt("at", decode(t, value)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
}

func TestFormatsAreAnnotationsInEachDraft(t *testing.T) {
	t.Parallel()

	for _, dialect := range dialects() {
		s, err := jsonschema.Compile([]byte(`{"$schema":"` + dialect + `","format":"ipv4"}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check("text"); err != nil {
			t.Errorf("%s: %v", dialect, err)
		}
	}
}

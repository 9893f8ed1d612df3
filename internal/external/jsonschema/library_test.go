package jsonschema_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	library "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/fettle-dev/fettle/internal/external/jsonschema"
)

// compareWithLibrary fails if the library has another opinion about a schema or about a value.
func compareWithLibrary(t *testing.T, schema string, values ...string) {
	t.Helper()
	ours, err := jsonschema.Compile([]byte(schema))
	theirs, theirErr := compileByLibrary(t, schema)
	if (err == nil) != (theirErr == nil) {
		t.Errorf("schema %s: %v, the library: %v", schema, err, theirErr)
	}
	if err != nil || theirErr != nil {
		return
	}
	for _, text := range values {
		value := decode(t, text)
		got := ""
		if err := ours.Check(value); err != nil {
			got = err.Error()
		}
		want, sure := checkByLibrary(theirs, value)
		if (got == "") != (want == "") || sure && got != want {
			t.Errorf("schema %s, value %s:\n %s, the library:\n %s", schema, text, cmp.Or(got, "conforms"), cmp.Or(want, "conforms"))
		}
	}
}

// nothing refuses to load a schema.
type nothing struct{}

func (nothing) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not loaded", url) }

func compileByLibrary(t *testing.T, schema string) (*library.Schema, error) {
	t.Helper()
	c := library.NewCompiler()
	c.UseLoader(nothing{})
	for _, name := range []string{"date", "ipv4"} { // formats are annotations in each draft
		c.RegisterFormat(&library.Format{Name: name, Validate: func(any) error { return nil }})
	}
	if err := c.AddResource("urn:schema", decode(t, schema)); err != nil {
		return nil, err
	}
	return c.Compile("urn:schema")
}

func decode(t *testing.T, text string) any {
	t.Helper()
	tree, err := library.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// checkByLibrary returns the violations as Check writes them. It is not sure of the places of names of properties, as the
// library says nothing about them.
func checkByLibrary(s *library.Schema, value any) (text string, sure bool) {
	var invalid *library.ValidationError
	if !errors.As(s.Validate(value), &invalid) {
		return "", true
	}
	all, sure := leaves(invalid)
	slices.Sort(all)
	all = slices.Compact(all)
	if n := len(all) - 5; n > 0 {
		all = append(all[:5], fmt.Sprintf("%d more", n))
	}
	return strings.Join(all, "; "), sure
}

func leaves(e *library.ValidationError) (all []string, sure bool) {
	_, isName := e.ErrorKind.(*kind.PropertyNames)
	sure = !isName || len(e.InstanceLocation) == 0
	if len(e.Causes) == 0 {
		place := "the combination of properties"
		if len(e.InstanceLocation) > 0 {
			place = strings.Join(e.InstanceLocation, ".")
		}
		keyword := cmp.Or(strings.Join(e.ErrorKind.KeywordPath(), "/"), "a condition")
		return []string{fmt.Sprintf("%s violates %s of the schema", place, keyword)}, sure
	}
	for _, c := range e.Causes {
		more, ok := leaves(c)
		all, sure = append(all, more...), sure && ok
	}
	return all, sure
}

func dialects() []string {
	return []string{
		"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema", "https://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/schema",
	}
}

func TestEachKeywordMeansInEachDraftWhatTheLibraryTakesItFor(t *testing.T) {
	t.Parallel()

	for _, keywords := range append(assertions(), applicators()...) {
		for _, dialect := range dialects() {
			compareWithLibrary(t, fmt.Sprintf(`{"$schema":%q,%s}`, dialect, keywords), values()...)
		}
		compareWithLibrary(t, "{"+keywords+"}", values()...)
	}
}

func TestSchemasThatAreNoObjects(t *testing.T) {
	t.Parallel()

	for _, schema := range []string{"true", "false", "{}", "1", "null", `"text"`, "[]", "[{}]"} {
		compareWithLibrary(t, schema, values()...)
	}
}

// values are of all types, on both sides of the limits in the schemas.
func values() []string {
	return []string{
		"null", "true", "false", "0", "-0", "1", "1.0", "1.5", "-1", "2", "3", "1e2", "100", "0.1", "0.3", "1E-2", "12345678901234567890", "1.0000000000000000000001",
		`""`, `"a"`, `"ab"`, `"äöü"`, `"😀😀"`, `"abc"`, `"1"`, `"null"`,
		"[]", "[1]", "[1,2]", "[1,1.0]", `[1,"a"]`, `["a","b","a"]`, "[[1],[1]]", `[{"a":1,"b":2},{"b":2,"a":1.0}]`, "[null,false,0]", `[1,2,3,"a",null]`, `["a",1,1,1]`,
		"{}", `{"a":1}`, `{"a":"text"}`, `{"b":1}`, `{"a":1,"b":2}`, `{"a":1,"b":"text","c":null}`, `{"abc":1,"d":[1,"a"]}`, `{"a":{"a":1,"b":"x"},"b":[1,1]}`, `{"a/b~c":1}`,
	}
}

func assertions() []string {
	return []string{
		`"type":"null"`, `"type":"integer"`, `"type":"number"`, `"type":["string","object"]`, `"type":["integer","array"]`, `"type":"wrong"`, `"type":[]`, `"type":["null","null"]`, `"type":1`, `"type":["wrong"]`,
		`"const":1`, `"const":"a"`, `"const":{"b":2,"a":1}`, `"const":[1]`, `"const":null`, `"const":false`,
		`"enum":[1,"a",null]`, `"enum":[[1,2],{"a":1}]`, `"enum":[]`, `"enum":[1,1.0]`, `"enum":{}`,
		`"multipleOf":1`, `"multipleOf":0.1`, `"multipleOf":1.5`, `"multipleOf":100`, `"multipleOf":7`, `"multipleOf":0`, `"multipleOf":-1`, `"multipleOf":"1"`,
		`"minimum":1`, `"maximum":1`, `"minimum":-0.5`, `"maximum":12345678901234567889`, `"minimum":"1"`, `"maximum":null`,
		`"exclusiveMinimum":1`, `"exclusiveMaximum":1`, `"minimum":1,"exclusiveMinimum":true`, `"maximum":1,"exclusiveMaximum":true`, `"minimum":1,"exclusiveMinimum":false`, `"exclusiveMinimum":true`, `"minimum":1,"exclusiveMinimum":2`,
		`"minLength":2`, `"maxLength":2`, `"minLength":2.0`, `"minLength":-1`, `"minLength":1.5`, `"maxLength":"2"`, `"maxLength":1e2`,
		`"pattern":"^a"`, `"pattern":"(?=x)"`, `"pattern":1`, `"pattern":"\\d"`,
		`"format":"ipv4"`, `"format":"unknown"`, `"format":1`, `"format":"date"`,
		`"minItems":2`, `"maxItems":1`, `"minItems":-1`, `"uniqueItems":true`, `"uniqueItems":false`, `"uniqueItems":1`,
		`"minProperties":2`, `"maxProperties":1`, `"maxProperties":-1`, `"required":["a"]`, `"required":["a","b"]`, `"required":[]`, `"required":["a","a"]`, `"required":true`, `"required":[1]`,
		`"dependentRequired":{"a":["b"]}`, `"dependentRequired":{"a":"b"}`, `"dependentRequired":{"a":{}}`, `"dependentRequired":[]`,
		`"title":1`, `"description":[]`, `"$comment":1`, `"readOnly":1`, `"writeOnly":"a"`, `"deprecated":1`, `"examples":{}`, `"default":1`, `"$ref":1`,
		`"contentEncoding":"base64","contentMediaType":"application/json"`, `"contentEncoding":1`, `"contentMediaType":1`, `"contentSchema":{"type":"wrong"}`,
		`"type":"string","minLength":2,"pattern":"^a"`, `"enum":["a"],"minLength":2`, `"x-unknown":{"type":"wrong"}`,
	}
}

func applicators() []string {
	return []string{
		`"properties":{"a":{"type":"integer"}}`, `"properties":{"a":false}`, `"properties":{"a":true,"b":{}}`, `"properties":{"a":{"type":"wrong"}}`, `"properties":[]`, `"properties":{"a":1}`,
		`"properties":{"a":{"properties":{"b":{"minLength":2}}},"a/b~c":{"minimum":2}}`,
		`"patternProperties":{"^a":{"type":"integer"},"b":{"minimum":2}}`, `"patternProperties":{"(?=x)":{}}`, `"patternProperties":{"a":1}`,
		`"additionalProperties":false`, `"additionalProperties":true`, `"additionalProperties":{"type":"integer"}`, `"additionalProperties":1`,
		`"properties":{"a":{}},"patternProperties":{"c$":{}},"additionalProperties":false`, `"properties":{"a":{}},"additionalProperties":{"type":"string"}`,
		`"propertyNames":{"maxLength":1}`, `"propertyNames":false`, `"propertyNames":{"type":"wrong"}`, `"properties":{"a":{"propertyNames":{"pattern":"^b"}}}`,
		`"dependencies":{"a":["b","c"]}`, `"dependencies":{"a":{"required":["b"]}}`, `"dependencies":{"a":[]}`, `"dependencies":{"a":["b","b"]}`, `"dependencies":{"a":false,"b":true}`, `"dependencies":{"a":1}`, `"dependencies":[]`,
		`"dependentSchemas":{"a":{"minProperties":2},"b":false}`, `"dependentSchemas":{"a":[]}`,
		`"items":{"type":"integer"}`, `"items":false`, `"items":[{"type":"integer"},{"type":"string"}]`, `"items":[]`, `"items":1`, `"items":[{"type":"wrong"}]`,
		`"items":[{"type":"integer"}],"additionalItems":false`, `"items":[{}],"additionalItems":{"type":"string"}`, `"additionalItems":false`, `"items":{},"additionalItems":false`, `"additionalItems":1`, `"additionalItems":{"type":"wrong"}`,
		`"prefixItems":[{"type":"integer"},{"type":"string"}]`, `"prefixItems":[{"type":"integer"}],"items":false`, `"prefixItems":[{}],"items":{"type":"string"}`, `"prefixItems":[]`, `"prefixItems":{}`,
		`"contains":{"type":"integer"}`, `"contains":false`, `"contains":{"type":"string"},"minContains":2`, `"contains":{"const":1},"minContains":0`, `"contains":{"const":1},"maxContains":1`, `"contains":{"const":1},"maxContains":1,"minContains":3`, `"minContains":2`, `"minContains":-1`, `"contains":{"type":"wrong"}`,
		`"not":{"type":"object"}`, `"not":{}`, `"not":{"type":"wrong"}`,
		`"allOf":[{"type":"object"},{"required":["a"]}]`, `"allOf":[{"minimum":2},{"minimum":3},{"minLength":2}]`, `"allOf":[]`, `"allOf":{}`, `"allOf":[1]`,
		`"anyOf":[{"type":"string"},{"minimum":2}]`, `"anyOf":[{"properties":{"a":{"type":"null"}},"required":["a"]},{"type":"array"}]`, `"anyOf":[]`,
		`"oneOf":[{"type":"integer"},{"minimum":2}]`, `"oneOf":[{"required":["a"]},{"required":["b"]}]`, `"oneOf":[false,true,{}]`, `"oneOf":[]`,
		`"if":{"type":"integer"},"then":{"minimum":2},"else":{"type":"object"}`, `"if":true,"then":{"type":"null"}`, `"if":false,"else":{"type":"null"}`, `"then":{"type":"null"}`, `"then":{"type":"wrong"}`, `"if":{},"else":{"type":"wrong"}`,
		`"definitions":{"a":{"type":"wrong"}}`, `"$defs":{"a":{"type":"wrong"}}`, `"definitions":1`, `"$defs":[]`,
		`"properties":{"a":{}},"unevaluatedProperties":false`, `"properties":{"a":{}},"unevaluatedProperties":{"type":"string"}`, `"unevaluatedProperties":1`,
		`"allOf":[{"properties":{"a":{}}},{"patternProperties":{"^b":{}}}],"unevaluatedProperties":false`, `"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"integer"}}}],"unevaluatedProperties":false`,
		`"oneOf":[{"required":["a"],"properties":{"a":{}}},{"required":["b"],"additionalProperties":{}}],"unevaluatedProperties":false`, `"allOf":[{"unevaluatedProperties":{"type":"integer"}}],"unevaluatedProperties":false`,
		`"if":{"properties":{"a":{"const":1}}},"then":{"properties":{"b":{}}},"else":{"properties":{"c":{}}},"unevaluatedProperties":false`, `"not":{"not":{"properties":{"a":{}}}},"unevaluatedProperties":false`,
		`"dependentSchemas":{"a":{"properties":{"b":{}}}},"properties":{"a":{}},"unevaluatedProperties":false`, `"properties":{"a":{"properties":{"a":{}},"unevaluatedProperties":false}}`, `"propertyNames":{},"unevaluatedProperties":false`,
		`"prefixItems":[{}],"unevaluatedItems":false`, `"items":[{}],"unevaluatedItems":false`, `"contains":{"type":"integer"},"unevaluatedItems":false`, `"anyOf":[{"prefixItems":[{"type":"integer"}]},{"items":{"type":"string"}}],"unevaluatedItems":{"type":"null"}`, `"allOf":[{"items":{}}],"unevaluatedItems":false`, `"items":[{}],"additionalItems":{},"unevaluatedItems":false`, `"allOf":[{"contains":{"const":"a"}}],"unevaluatedItems":{"const":1}`,
		`"properties":{"a":{"$schema":"http://json-schema.org/draft-04/schema#","const":2}}`, `"properties":{"a":{"$schema":"https://example.com/meta"}}`, `"$schema":"https://example.com/meta"`, `"$schema":1`, `"not":{"not":{"not":{"type":"array"}}}`,
	}
}

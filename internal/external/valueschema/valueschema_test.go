package valueschema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/external/valueschema"
)

// What API servers check is tested with one: see TestFormsOfSchemasHaveTheSameVerdictInAClusterAndInFiles in internal/cli.
func TestTypesCombineAllKeywords(t *testing.T) {
	t.Parallel()

	for schema, want := range map[string]string{
		`{"type":"string"}`: "string", `{"type":"string","nullable":true}`: "string or null", `{"type":["integer","number"]}`: "number",
		`{"type":["string","null","boolean"]}`: "string, boolean or null", `{"x-kubernetes-int-or-string":true}`: "string or integer",
		`{"anyOf":[{"type":"string"},{"enum":[1,1.5]}]}`: "string or number", `{"enum":["a",1,null]}`: "string, integer or null",
		`{"type":["string","null"],"enum":["a"]}`: "string", `{"allOf":[{"type":["string","integer"]},{"type":["integer","boolean"]}]}`: "integer",
		`{}`: "", `true`: "", `{"anyOf":[{"type":"string"},{}]}`: "", `{"type":"array","items":{"type":"string"}}`: "array",
	} {
		if got := valueschema.Words(valueschema.Types([]byte(schema))); got != want {
			t.Errorf("%s allows %q, not %q", schema, got, want)
		}
	}
}

func TestStructuralSchemasAreUnchanged(t *testing.T) {
	t.Parallel()

	for _, schema := range []string{
		`{"type":"string","anyOf":[{"minLength":3},{"enum":["a"]}],"not":{"pattern":"b"},"description":"A text."}`,
		`{"type":"array","items":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"oneOf":[{"required":["a"]},{"properties":{"a":{"enum":["x"]}}}]}`,
		`{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}],"minimum":1}`,
		`{"type":"number","minimum":9007199254740993,"enum":[1,1.50]}`, `{"x-kubernetes-preserve-unknown-fields":true}`,
		`{"type":"object","additionalProperties":{"type":"string","nullable":true}}`,
	} {
		got, err := valueschema.Structural([]byte(schema))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		if diff := cmp.Diff(decode(t, []byte(schema)), decode(t, got)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", schema, diff)
		}
	}
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFaultsNameTheirPath(t *testing.T) {
	t.Parallel()

	for schema, want := range map[string]string{
		`{"type":"float"}`: `.type has "float": use string, integer, number, boolean, array, object or null`,
		`{"type":[]}`:      ".type is empty: list at least one type",
		`{"minLength":3}`:  " has no type: write one",
		`{"type":"object","properties":{"a":{"type":"array","items":"x"}}}`: ".properties[a].items is x: write an object",
		`{"type":["string","integer"],"enum":[true]}`:                       " allows no value: ",
		`{"enum":[null]}`: " allows no value: ",
		`false`:           " is false: write an object",
		`{"anyOf":[{"type":"string"},{"type":"text"}]}`:                       `.anyOf[1].type has "text"`,
		`{"type":["string","integer"],"not":{"type":"boolean"}}`:              ".not.type allows no value that the rest of the schema allows",
		`{"minLength":1,"anyOf":[{"type":"null"},{"minLength":2}]}`:           ".minLength is in anyOf, too, with another value: write it once",
		`{"anyOf":[{"type":"array","items":{}},{"type":"array","items":{}}]}`: ".anyOf[0].items: several alternatives are of the type array: ",
		`{"type":"string"`: ": unexpected EOF",
	} {
		_, err := valueschema.Structural([]byte(schema))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", schema, err, want)
		}
	}
}

// A structural schema of a structural schema is the same.
func FuzzStructural(f *testing.F) {
	f.Add([]byte(`{"anyOf":[{"type":"string","minLength":2},{"type":["boolean","null"]},{"type":"array","items":{"enum":[1,"a"]}}]}`))
	f.Add([]byte(`{"type":"object","properties":{"a":true,"b":{"oneOf":[{"const":1},{"type":"object","additionalProperties":false}]}},"nullable":true}`))
	f.Add([]byte(`{"allOf":[{"type":["string","integer"]}],"not":{"type":"integer","maximum":3},"enum":["a",null,4]}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		once, err := valueschema.Structural(schema)
		if err != nil {
			return
		}
		twice, err := valueschema.Structural(once)
		if err != nil || !cmp.Equal(decode(t, once), decode(t, twice)) {
			t.Errorf("%s became %s, which became %s: %v", schema, once, twice, err)
		}
		for _, name := range valueschema.Types(schema) {
			if len(name) == 0 {
				t.Error("a type has no name")
			}
		}
	})
}

package structural_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kubejson "sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/internal/structural"
)

const schemaOfTests = `{
	"type": "object",
	"required": ["name"],
	"x-kubernetes-validations": [
		{"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low is above high"},
		{"rule": "!has(self.__namespace__) || self.__namespace__ != self.a__dash__b", "message": "two fields are equal"}
	],
	"properties": {
		"name": {"type": "string", "maxLength": 5, "x-kubernetes-validations": [{"rule": "self.startsWith('a')", "message": "does not begin with a"}]},
		"low": {"type": "integer"},
		"high": {"type": "integer", "maximum": 9},
		"namespace": {"type": "string"},
		"a-b": {"type": "string", "default": ""},
		"list": {"type": "array", "maxItems": 5000, "items": {
			"type": "object",
			"properties": {"size": {"type": "integer"}, "mode": {"type": "string", "enum": ["on", "off"]}},
			"x-kubernetes-validations": [{"rule": "!has(self.size) || self.size > 0", "message": "size is too small"}]
		}},
		"map": {"type": "object", "additionalProperties": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'no'", "message": "is no"}]}},
		"nested": {
			"type": "object",
			"required": ["id"],
			"properties": {"id": {"type": "string"}, "port": {"x-kubernetes-int-or-string": true}},
			"x-kubernetes-validations": [{"rule": "type(self.port) != int || self.port < 10", "message": "port is too large"}]
		},
		"refined": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'"}], "allOf": [{"x-kubernetes-validations": [{"rule": "self != 'bad'", "message": "is bad"}]}]},
		"fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
		"wrong": {"type": "string", "x-kubernetes-validations": [{"rule": "self + 1 == 2"}]},
		"costly": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))", "message": "differ"}]}
	}
}`

func TestCheckFindsWhatAnAPIServerWouldReject(t *testing.T) {
	tests := map[string]struct {
		object string
		want   []string
	}{
		"an object that follows all rules":           {`{"name": "abc", "low": 1, "high": 2, "list": [{"size": 1, "mode": "on"}], "map": {"x": "yes"}, "nested": {"id": "x", "port": 9}, "refined": "good"}`, nil},
		"a rule about fields that are missing":       {`{"name": "abc", "low": 1}`, nil},
		"a rule about changes":                       {`{"name": "abc", "fixed": "x"}`, nil},
		"a rule about two fields":                    {`{"name": "abc", "low": 2, "high": 1}`, []string{`<nil>: Invalid value: low is above high`}},
		"a rule about fields with escaped names":     {`{"name": "abc", "namespace": "x", "a-b": "x"}`, []string{`<nil>: Invalid value: two fields are equal`}},
		"a rule of a field":                          {`{"name": "xyz"}`, []string{`name: Invalid value: "xyz": does not begin with a`}},
		"a rule of the items of a list":              {`{"name": "abc", "list": [{"size": 1}, {"size": 0}]}`, []string{`list[1]: Invalid value: size is too small`}},
		"a rule of the values of a map":              {`{"name": "abc", "map": {"x": "no"}}`, []string{`map[x]: Invalid value: "no": is no`}},
		"a rule of an object about a number or text": {`{"name": "abc", "nested": {"id": "x", "port": 10}}`, []string{`nested: Invalid value: port is too large`}},
		"a rule that reads a missing field":          {`{"name": "abc", "nested": {"id": "x"}}`, []string{`nested: Invalid value: "object": no such key: port evaluating rule: port is too large`}},
		"a rule in an allOf":                         {`{"name": "abc", "refined": "bad"}`, []string{`refined: Invalid value: "bad": is bad`}},
		"a missing field, a long text and a large number": {`{"name": "abcdef", "high": 10, "nested": {"port": 1}}`, []string{
			`high: Invalid value: 10: high in body should be less than or equal to 9`, `name: Too long: may not be more than 5 bytes`, `nested.id: Required value`,
		}},
		"an unsupported value in a list": {`{"name": "abc", "list": [{"mode": "on"}, {"mode": "up"}]}`, []string{`list[1].mode: Unsupported value: "up": supported values: "on", "off"`}},
		"a value of another type":        {`{"name": "abc", "nested": "x"}`, []string{`nested: Invalid value: "string": nested in body must be of type object: "string"`}},
		"a rule that cannot be compiled": {`{"name": "abc", "wrong": "1"}`, []string{
			"wrong: Invalid value: \"string\": rule compile error: compilation failed: ERROR: <input>:1:6: found no matching overload for '_+_' applied to '(string, int)'\n" +
				" | self + 1 == 2\n | .....^",
		}},
		"a rule that costs too much": {`{"name": "abc", "costly": [1` + strings.Repeat(",1", 2000) + `]}`, []string{
			`costly: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: differ`,
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkObject(t, test.object, test.want)
		})
	}
}

func checkObject(t *testing.T, text string, want []string) {
	t.Helper()
	var props apiextensionsv1.JSONSchemaProps
	must(t, json.Unmarshal([]byte(schemaOfTests), &props))
	s, err := structural.ForObjects(&props)
	must(t, err)
	var object map[string]any
	must(t, kubejson.UnmarshalCaseSensitivePreserveInts([]byte(text), &object))
	unknown, faults := s.Check(t.Context(), object)
	var got []string
	for _, f := range faults {
		got = append(got, f.Error())
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(unknown) > 0 {
		t.Errorf("unknown %v, faults (-want +got):\n%s", unknown, diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

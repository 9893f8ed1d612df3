package defaults_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/defaults"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// record is a type whose attributes have these defaults, by name. "-" is none.
func record(t *testing.T, of map[string]string) *definition.Definition {
	t.Helper()
	typ := v1alpha1.ExternalType{}
	err := yaml.UnmarshalStrict([]byte(`
metadata: {name: records}
spec:
  kind: Record
  version: 1.0.0
  description: A record.
  attributes:
  - {name: fqdn, description: Its name., behaviour: Namevar, schema: {type: string}}
  - {name: zone, description: Its zone., schema: {type: string}}
  - {name: host, description: Its host., schema: {type: string}}
  - {name: ttl, description: Seconds., schema: {type: integer}}
  - {name: weight, description: A weight., schema: {type: number}}
  - {name: values, description: Values., schema: {type: array, items: {type: string}}}
  - {name: options, description: Options., schema: {type: object, additionalProperties: {type: string}}}
  - {name: shared, description: Whether it is shared., schema: {type: boolean}}
  - {name: token, description: A key., sensitive: true, schema: {type: string}}
  providers: [{name: plain, command: ["true"]}]
  source: {hostPath: /opt/record}
`), &typ)
	if err != nil {
		t.Fatal(err)
	}
	for i := range typ.Spec.Attributes {
		typ.Spec.Attributes[i].Default = of[typ.Spec.Attributes[i].Name]
	}
	d, err := definition.New(&typ)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func complete(t *testing.T, d *definition.Definition, spec string) (string, error) {
	t.Helper()
	all, err := defaults.New(d)
	if err != nil {
		t.Fatal(err)
	}
	r := &v1alpha1.External{}
	if err := yaml.UnmarshalStrict([]byte("metadata: {name: www.example.org}\nspec: "+spec), r); err != nil {
		t.Fatal(err)
	}
	before := r.DeepCopyObject()
	out, err := all.Complete(r)
	if diff := cmp.Diff(before, any(r)); diff != "" {
		t.Errorf("Complete changed its argument (-before +after):\n%s", diff)
	}
	if err != nil {
		return "", err
	}
	if out.Spec.Properties == nil {
		return "", nil
	}
	return string(out.Spec.Properties.Raw), nil
}

func TestMissingAttributesAreComputed(t *testing.T) {
	t.Parallel()

	zone := `self.fqdn.substring(self.fqdn.indexOf('.') + 1)`
	for name, tt := range map[string]struct {
		defaults map[string]string
		spec     string
		want     string
	}{
		"from the name":                          {map[string]string{"host": `name.split('.')[0]`}, "{}", `{"host":"www"}`},
		"from an attribute":                      {map[string]string{"zone": zone}, "{properties: {fqdn: a.b.c}}", `{"fqdn":"a.b.c","zone":"b.c"}`},
		"from a namevar that is the name":        {map[string]string{"zone": zone}, "{}", `{"zone":"example.org"}`},
		"from earlier defaults":                  {map[string]string{"zone": zone, "host": "self.zone.upperAscii()"}, "{}", `{"host":"EXAMPLE.ORG","zone":"example.org"}`},
		"but a value of the resource stays":      {map[string]string{"zone": "'other'"}, "{properties: {zone: own}}", `{"zone":"own"}`},
		"but an empty value of a resource stays": {map[string]string{"zone": "'other'"}, `{properties: {zone: ""}}`, `{"zone":""}`},
		"but not for values of Secrets": {
			map[string]string{"token": "'other'"}, "{propertiesFrom: [{name: token, secretKeyRef: {namespace: a, name: b, key: c}}], properties: {ttl: 1}}", `{"ttl":1}`,
		},
		"but null is no value":        {map[string]string{"zone": "has(self.ttl) ? 'a' : dyn(null)"}, "{}", `{}`},
		"with integers":               {map[string]string{"ttl": "has(self.shared) ? 1 : 3600 + 1"}, "{}", `{"ttl":3601}`},
		"with integers of numbers":    {map[string]string{"ttl": "dyn(2.0)"}, "{}", `{"ttl":2}`},
		"with numbers":                {map[string]string{"weight": "1.5"}, "{}", `{"weight":1.5}`},
		"with numbers from integers":  {map[string]string{"weight": "1"}, "{}", `{"weight":1}`},
		"with lists":                  {map[string]string{"values": "[name, 'b']"}, "{}", `{"values":["www.example.org","b"]}`},
		"with objects":                {map[string]string{"options": "{'a': name}"}, "{}", `{"options":{"a":"www.example.org"}}`},
		"with booleans and ensure":    {map[string]string{"shared": "self.ensure == 'absent'"}, "{ensure: absent}", `{"shared":true}`},
		"with the default of ensure":  {map[string]string{"shared": "self.ensure == 'present'"}, "{}", `{"shared":true}`},
		"and large integers are kept": {map[string]string{"host": "'a'"}, "{properties: {ttl: 9007199254740993}}", `{"host":"a","ttl":9007199254740993}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := complete(t, record(t, tt.defaults), tt.spec)
			if err != nil || got != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestFailedDefaultsNameTheAttribute(t *testing.T) {
	t.Parallel()

	grow := "self.fqdn"
	for range 12 {
		grow = "(" + grow + ").replace('w', 'wwwwwwwwwwwwwwwww')"
	}
	for name, tt := range map[string]struct{ attribute, expression, want string }{
		"missing attribute": {"zone", "self.host", "properties.zone: cannot compute the default: it reads host, which the resource does not set: set it, or test it with has(self.host) in the type"},
		"later attribute":   {"host", "self.ttl > 0 ? 'a' : 'b'", "properties.host: cannot compute the default: it reads ttl,"},
		"other type":        {"ttl", "dyn(name)", "properties.ttl: cannot compute the default: it returns string, but must return integer"},
		"fraction":          {"ttl", "dyn(1.5)", "it returns number, but must return integer"},
		"index":             {"host", "name.split('.')[7]", "properties.host: cannot compute the default: index out of bounds: 7"},
		"cost":              {"host", grow, "properties.host: cannot compute the default: "},
		"keys":              {"options", "dyn({1: 'a'})", "an object with a key of type int"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := complete(t, record(t, map[string]string{tt.attribute: tt.expression}), "{}")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestDefaultsSeeNoSensitiveValue(t *testing.T) {
	t.Parallel()

	got, err := complete(t, record(t, map[string]string{"values": "[string(has(self.token))]", "token": ""}), "{properties: {token: marker}}")
	if want := `{"token":"marker","values":["false"]}`; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestInvalidDefaultsAreRejected(t *testing.T) {
	t.Parallel()

	_, err := defaults.New(record(t, map[string]string{
		"zone": "name +", "host": "facts.os", "ttl": "name", "values": "{}", "weight": "'1'", "shared": "size(name)", "options": "timestamp('2020-01-01T00:00:00Z')",
	}))
	for _, want := range []string{
		"spec.attributes[zone].default: line 1, column ", "spec.attributes[host].default: line 1, column 1: undeclared reference to 'facts'",
		"spec.attributes[ttl].default: it returns string, but must return integer", "spec.attributes[values].default: it returns object, but must return array",
		"spec.attributes[weight].default: it returns string, but must return number", "spec.attributes[shared].default: it returns integer, but must return boolean",
		"spec.attributes[options].default: it returns google.protobuf.Timestamp, but must return object",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

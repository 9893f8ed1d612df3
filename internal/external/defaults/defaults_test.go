package defaults_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
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
  - {name: fqdn, description: Its name., behaviour: Namevar, schema: {type: string, pattern: '\.', maxLength: 20}}
  - {name: zone, description: Its zone., schema: {type: string, maxLength: 30, x-kubernetes-validations: [{rule: "self != 'local'", message: must not be local}]}}
  - {name: host, description: Its host., schema: {type: string, enum: [www, WWW, EXAMPLE.ORG, a]}}
  - {name: ttl, description: Seconds., schema: {type: integer, minimum: 1}}
  - {name: weight, description: A weight., schema: {type: number}}
  - {name: values, description: Values., schema: {type: array, maxItems: 2, x-kubernetes-list-type: set, items: {type: string, maxLength: 20}}}
  - {name: options, description: Options., schema: {type: object, additionalProperties: {type: string}}}
  - {name: shared, description: Whether it is shared., schema: {type: boolean}}
  - {name: token, description: A key., sensitive: true, schema: {type: string, minLength: 7}}
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

func compiled(t *testing.T, d *definition.Definition) (*defaults.Defaults, error) {
	t.Helper()
	built, err := crdbuild.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	return defaults.New(d, built)
}

func complete(t *testing.T, d *definition.Definition, spec string) (string, error) {
	t.Helper()
	all, err := compiled(t, d)
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
			map[string]string{"token": "'another'"}, "{propertiesFrom: [{name: token, secretKeyRef: {namespace: a, name: b, key: c}}], properties: {ttl: 1}}", `{"ttl":1}`,
		},
		"but null is no value":        {map[string]string{"zone": "has(self.ttl) ? 'a' : dyn(null)"}, "{}", ``},
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
		"fraction":          {"ttl", "size(name) > 0 ? dyn(1.5) : dyn(1)", "it returns number, but must return integer"},
		"index":             {"host", "name.split('.')[7]", "properties.host: cannot compute the default: index out of bounds: 7"},
		"cost":              {"host", grow, "properties.host: cannot compute the default: the defaults of a resource take more than about 10 ms"},
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

// An API server checks only what is in a resource.
func TestComputedValuesMustFitTheSchema(t *testing.T) {
	t.Parallel()

	const misfit = ": the default does not fit its schema: "
	for name, tt := range map[string]struct{ attribute, expression, spec, want string }{
		"enum":      {"host", "name.split('.')[1]", "{}", "properties.host" + misfit + `Unsupported value: "example": supported values: "www", `},
		"minimum":   {"ttl", "size(name) - 15", "{}", "properties.ttl" + misfit + "Invalid value: 0: ttl in body should be greater than or equal to 1"},
		"rule":      {"zone", "self.fqdn.substring(4)", "{properties: {fqdn: www.local}}", "properties.zone" + misfit + "Invalid value: \"local\": must not be local"},
		"length":    {"zone", "name + name + name", "{}", "properties.zone" + misfit + "Too long: may not be more than 30"},
		"set":       {"values", "[name, name]", "{}", `properties.values` + misfit + `Duplicate value: "www.example.org"`},
		"elements":  {"values", "[name + name]", "{}", "properties.values" + misfit + "Too long"},
		"sensitive": {"token", "name.substring(0, 6)", "{}", "properties.token" + misfit + "Invalid value: token in body should be at least 7 chars long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := complete(t, record(t, map[string]string{tt.attribute: tt.expression}), tt.spec)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "www.ex\"") {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestTheNameOfAResourceMustFitTheSchemaOfItsNamevar(t *testing.T) {
	t.Parallel()

	d := record(t, nil)
	d.Spec.Attributes[0].Schema.Raw = []byte(`{"type": "string", "maxLength": 5}`)
	got, err := complete(t, d, "{}")
	if want := "properties.fqdn: it is not set, and the name of the resource does not fit its schema: Too long: may not be more than 5"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if got, err := complete(t, d, "{properties: {fqdn: a.b}}"); err != nil || got != `{"fqdn":"a.b"}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestConstantDefaultsAreCheckedWithTheType(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct{ attribute, expression, want string }{
		"enum":     {"host", "'ftp'", `spec.attributes[host].default: Unsupported value: "ftp": supported values: "www", `},
		"minimum":  {"ttl", "1 - 1", "spec.attributes[ttl].default: Invalid value: 0: ttl in body should be greater than or equal to 1"},
		"rule":     {"zone", "'local'", "spec.attributes[zone].default: Invalid value: \"local\": must not be local"},
		"type":     {"ttl", "dyn(1.5)", "spec.attributes[ttl].default: it returns number, but must return integer"},
		"accepted": {"ttl", "3600", ""},
		"unset":    {"ttl", "dyn(null)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := compiled(t, record(t, map[string]string{tt.attribute: tt.expression}))
			if err != nil {
				t.Fatal(err)
			}
			err = all.CheckConstants()
			if tt.want == "" && err == nil {
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v; want %s", err, tt.want)
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

	_, err := compiled(t, record(t, map[string]string{
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

func TestRulesOfTheTypeAreCheckedWithDefaults(t *testing.T) {
	t.Parallel()

	d := record(t, map[string]string{"ttl": "self.fqdn.size()"})
	d.Spec.Rules = []v1alpha1.ExternalRule{{Rule: "self.ttl < 10 || self.zone != 'short'", Message: "a short zone has a short ttl"}}
	for spec, want := range map[string]string{
		"{properties: {zone: short}}":                        "properties: a short zone has a short ttl",
		"{properties: {zone: short, ttl: 9}}":                "",
		"{properties: {zone: long}}":                         "",
		"{ensure: absent, properties: {zone: short}}":        "",
		"{properties: {zone: short, fqdn: a.b}}":             "",
		"{properties: {zone: short, fqdn: longer.than.ten}}": "properties: a short zone has a short ttl",
	} {
		_, err := complete(t, d, spec)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v; want %s", spec, err, want)
		}
	}
}

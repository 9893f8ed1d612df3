package crdbuild_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// records is a type with every part that a definition depends on.
const records = `
metadata: {name: dnsrecords}
spec:
  kind: DNSRecord
  shortNames: [rr]
  version: 1.0.0
  description: Manages records of a zone.
  ensure: {values: [present, parked]}
  attributes:
  - {name: zone, description: The zone., behaviour: Namevar, schema: {type: string, minLength: 1, maxLength: 253}}
  - {name: id, description: The number., behaviour: Namevar, schema: {type: integer, minimum: 0}}
  - {name: type, description: The type., required: true, schema: {type: string, enum: [A, TXT]}}
  - {name: in, description: A reserved word., schema: {type: string, maxLength: 9}}
  - {name: a__b, description: Underscores., schema: {type: string, maxLength: 9}}
  - {name: ttl, description: Seconds., required: true, default: "3600", schema: {type: integer, minimum: 1}}
  - name: values
    description: The values.
    required: true
    schema:
      type: array
      maxItems: 8
      items: {type: string, maxLength: 99}
      x-kubernetes-validations: [{rule: "self.all(v, v != '')", message: must not contain empty texts}]
  - {name: token, description: A key., behaviour: Parameter, required: true, sensitive: true, schema: {type: string, minLength: 4}}
  - {name: created, description: When., behaviour: ReadOnly, schema: {type: string}}
  providers: [{name: plain, command: ["true"]}, {name: other, command: ["true"]}]
  source: {hostPath: /opt/record}
`

func define(t *testing.T, text string) *definition.Definition {
	t.Helper()
	var typ v1alpha1.ExternalType
	if err := yaml.UnmarshalStrict([]byte(text), &typ); err != nil {
		t.Fatal(err)
	}
	d, err := definition.New(&typ)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func build(t *testing.T, d *definition.Definition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	built, err := crdbuild.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// instance returns a valid record with replaced lines.
func instance(t *testing.T, replace ...string) *unstructured.Unstructured {
	t.Helper()
	text := strings.NewReplacer(replace...).Replace(`{
apiVersion: types.fettle.dev/v1alpha1, kind: DNSRecord, metadata: {name: www},
spec: {
  nodeSelector: {},
  properties: {
    zone: example.org, id: 1,
    type: A,
    values: [192.0.2.1]
  },
  propertiesFrom: [{name: token, secretKeyRef: {namespace: a, name: b, key: c}}]
}}`)
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAPIServerAcceptsTheDefinitionAndRejectsInvalidResources(t *testing.T) {
	t.Parallel()

	config, _ := controlplane.Start(t)
	k8s := controlplane.Admin(t, config)
	ctx := t.Context()
	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{build(t, define(t, records))}}
	if _, err := envtest.InstallCRDs(config, options); err != nil { // waits until it is served
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		replace []string
		want    string // "" for accepted
	}{
		"valid":                            {nil, ""},
		"absent":                           {[]string{"type: A,", "", "values: [192.0.2.1]", "", "nodeSelector: {}", "nodeSelector: {}, ensure: absent"}, ""},
		"inline secret":                    {[]string{"type: A", "type: A, token: abcd", "propertiesFrom: [{name: token, secretKeyRef: {namespace: a, name: b, key: c}}]", ""}, ""},
		"own ensure":                       {[]string{"nodeSelector: {}", "nodeSelector: {}, ensure: parked"}, ""},
		"unknown ensure":                   {[]string{"nodeSelector: {}", "nodeSelector: {}, ensure: running"}, `spec.ensure: Unsupported value: "running"`},
		"missing Namevar":                  {[]string{"zone: example.org,", ""}, "spec.properties.zone: Required value"},
		"missing Namevar while absent":     {[]string{"zone: example.org,", "", "nodeSelector: {}", "nodeSelector: {}, ensure: absent"}, "spec.properties.zone: Required value"},
		"missing attribute":                {[]string{"type: A,", ""}, "spec.properties: Required value: properties.type is missing: DNSRecord requires it unless ensure is absent"},
		"missing list":                     {[]string{"values: [192.0.2.1]", ""}, "properties.values is missing"},
		"missing secret":                   {[]string{"name: token", "name: in"}, "properties.token is missing"},
		"secret twice":                     {[]string{"type: A", "type: A, token: abcd"}, "spec.propertiesFrom: Invalid value: token is in properties and in propertiesFrom: set only one"},
		"secret of a reserved word twice":  {[]string{"type: A", "type: A, in: a", "[{name: token", "[{name: in, secretKeyRef: {namespace: a, name: b, key: c}}, {name: token"}, "in is in properties and in propertiesFrom"},
		"secret with underscores twice":    {[]string{"type: A", "type: A, a__b: a", "[{name: token", "[{name: a__b, secretKeyRef: {namespace: a, name: b, key: c}}, {name: token"}, "a__b is in properties and in propertiesFrom"},
		"Namevar from a Secret":            {[]string{"name: token", "name: zone"}, `spec.propertiesFrom[0].name: Unsupported value: "zone"`},
		"wrong type":                       {[]string{"id: 1", `id: "1"`}, "spec.properties.id: Invalid value"},
		"value that is too small":          {[]string{"id: 1", "id: -1"}, "spec.properties.id: Invalid value"},
		"value that is not listed":         {[]string{"type: A", "type: MX"}, `spec.properties.type: Unsupported value: "MX"`},
		"value that a rule of it rejects":  {[]string{"[192.0.2.1]", `[""]`}, "spec.properties.values: Invalid value: must not contain empty texts"},
		"unknown attribute":                {[]string{"type: A", "type: A, color: red"}, `unknown field "spec.properties.color"`},
		"attribute that is only read":      {[]string{"type: A", "type: A, created: now"}, `unknown field "spec.properties.created"`},
		"no nodeSelector":                  {[]string{"nodeSelector: {},", ""}, "spec.nodeSelector: Required value"},
		"unknown provider":                 {[]string{"nodeSelector: {}", "nodeSelector: {}, provider: third"}, `spec.provider: Unsupported value: "third"`},
		"audit of a property":              {[]string{"nodeSelector: {}", "nodeSelector: {}, audit: [a__b, created]"}, ""},
		"audit of a parameter":             {[]string{"nodeSelector: {}", "nodeSelector: {}, audit: [token]"}, `spec.audit[0]: Unsupported value: "token"`},
		"field of the kind it is based on": {[]string{"nodeSelector: {}", "nodeSelector: {}, message: hello"}, `unknown field "spec.message"`},
	} {
		err := client.WithFieldValidation(k8s, metav1.FieldValidationStrict).Create(ctx, instance(t, tt.replace...), client.DryRunAll)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v\nwant %s", name, err, tt.want)
		}
	}
}

func TestDefinitionIsDeterministic(t *testing.T) {
	t.Parallel()

	first := build(t, define(t, records))
	for range 5 {
		if diff := cmp.Diff(first, build(t, define(t, records))); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestDefinitionOfARemoteTypeShowsTheActingNode(t *testing.T) {
	t.Parallel()

	remote := define(t, strings.Replace(records, "spec:", "spec:\n  scope: Remote", 1))
	if !crdbuild.IsRemote(build(t, remote)) || crdbuild.IsRemote(build(t, define(t, records))) {
		t.Error("the definition does not tell the scope")
	}
	var columns []string
	for _, c := range build(t, remote).Spec.Versions[0].AdditionalPrinterColumns {
		columns = append(columns, c.Name+" "+c.JSONPath)
	}
	want := []string{
		"Ensure .spec.ensure", "Node .status.actingNode", `Ready .status.conditions[?(@.type=="Ready")].status`, `Reason .status.conditions[?(@.type=="Ready")].reason`, "Last drift .status.drift.lastSeen",
		"Age .metadata.creationTimestamp", "Zone .spec.properties.zone", "Id .spec.properties.id", `Message .status.conditions[?(@.type=="Ready")].message`,
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Error(diff)
	}
}

func TestDefinitionLooksLikeThoseOfBuiltInKinds(t *testing.T) {
	t.Parallel()

	built := build(t, define(t, records))
	var columns []string
	for _, c := range built.Spec.Versions[0].AdditionalPrinterColumns {
		columns = append(columns, c.Name+" "+c.JSONPath)
	}
	want := `Ensure .spec.ensure
Nodes .status.nodes.selected
InSync .status.nodes.inSync
Pending .status.nodes.pending
Failed .status.nodes.failed
Skipped .status.nodes.skipped
Noop .status.nodes.noop
Disabled .status.nodes.disabled
Unknown .status.nodes.unknown
Ready .status.conditions[?(@.type=="Ready")].status
Reason .status.conditions[?(@.type=="Ready")].reason
Last drift .status.drift.lastSeen
Age .metadata.creationTimestamp
OutOfSync .status.nodes.outOfSync
Zone .spec.properties.zone
Id .spec.properties.id
Message .status.conditions[?(@.type=="Ready")].message`
	if diff := cmp.Diff(want, strings.Join(columns, "\n")); diff != "" {
		t.Error(diff)
	}
	names := built.Spec.Names
	if got := []string{built.Name, names.Plural, names.Singular, names.ListKind, names.ShortNames[0], names.Categories[0]}; cmp.Diff(got, []string{"dnsrecords.types.fettle.dev", "dnsrecords", "dnsrecord", "DNSRecordList", "rr", "fettle"}) != "" {
		t.Error(got)
	}
	attributes := built.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["properties"].Properties
	if got := attributes["token"].Format; got != "password" {
		t.Errorf("the sensitive attribute has the format %q", got)
	}
	if got, want := attributes["ttl"].Description, "Seconds. Defaults to the value of the expression 3600."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestInvalidSchemasAreRejectedWithTheirAttribute(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct{ schema, want string }{
		"unknown field":   {"{type: string, minimumLength: 3}", `spec.attributes[zone].schema: unknown field "minimumLength"`},
		"reference":       {`{type: string, $ref: "#/a"}`, "spec.attributes[zone].schema.$ref"},
		"default":         {"{type: string, default: a}", "spec.attributes[zone].schema.default is not available"},
		"nested default":  {"{type: string, items: {type: object, properties: {a: {type: string, default: a}}}}", "spec.attributes[zone].schema.items.properties[a].default is not available"},
		"pattern":         {`{type: string, pattern: "("}`, "spec.attributes[zone].schema.pattern"},
		"invalid rule":    {"{type: string, x-kubernetes-validations: [{rule: self +}]}", "spec.attributes[zone].schema.x-kubernetes-validations[0].rule"},
		"costly rule":     {"{type: string, x-kubernetes-validations: [{rule: \"self.matches(self)\"}, {rule: \"self.split('').all(a, self.split('').all(b, a == b))\"}]}", "spec.attributes[zone].schema.x-kubernetes-validations[1].rule: Forbidden: estimated rule cost exceeds"},
		"not structural":  {"{type: string, anyOf: [{additionalProperties: {type: string}}]}", "spec.attributes[zone].schema.anyOf[0].additionalProperties: Forbidden: must be undefined to be structural"},
		"unknown keyword": {"{type: string, format: 3}", "spec.attributes[zone].schema: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := crdbuild.Build(define(t, strings.Replace(records, "{type: string, minLength: 1, maxLength: 253}", tt.schema, 1)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v; want %s", err, tt.want)
			}
		})
	}
}

func TestSchemasThatNoValueFitsAreRejected(t *testing.T) {
	t.Parallel()

	const noEffect = " has no effect, because it is for values of the type "
	for name, tt := range map[string]struct{ schema, want string }{
		"number among texts":            {"{type: string, enum: [a, 5]}", "spec.attributes[in].schema.enum[1] is 5, which the rest of the schema excludes: value in body must be of type string"},
		"text among integers":           {`{type: integer, enum: [1, "2"]}`, "spec.attributes[in].schema.enum[1] is \"2\", which the rest of the schema excludes: value in body must be of type integer"},
		"fraction among integers":       {"{type: integer, enum: [1.5]}", "schema.enum[0]"},
		"text among booleans":           {`{type: boolean, enum: ["true"]}`, "schema.enum[0]"},
		"null":                          {"{type: string, enum: [null]}", "schema.enum[0] is null"},
		"value that is too long":        {"{type: string, enum: [abc], maxLength: 2}", "schema.enum[0]"},
		"value against the pattern":     {"{type: string, enum: [a, b], pattern: ^a$}", "schema.enum[1]"},
		"value against a rule":          {"{type: string, maxLength: 9, enum: [a, b], x-kubernetes-validations: [{rule: self != 'b', message: no b}]}", "schema.enum[1] is \"b\", which the rest of the schema excludes: no b"},
		"elements":                      {"{type: array, items: {type: string, enum: [1]}}", "schema.items.enum[0]"},
		"fields":                        {"{type: object, properties: {a: {type: string, enum: [1]}}}", "schema.properties[a].enum[0]"},
		"values of a map":               {"{type: object, additionalProperties: {type: string, enum: [1]}}", "schema.additionalProperties.enum[0]"},
		"alternatives":                  {"{type: string, anyOf: [{enum: [a]}, {enum: [1]}]}", "schema.anyOf[1].enum[0]"},
		"fields of alternatives":        {"{type: object, properties: {a: {type: string}}, oneOf: [{properties: {a: {enum: [1]}}}]}", "schema.oneOf[0].properties[a].enum[0]"},
		"excluded values":               {"{type: string, not: {enum: [1]}}", "schema.not.enum[0]"},
		"minimum of a text":             {"{type: string, minimum: 1}", "spec.attributes[in].schema.minimum" + noEffect + "number and the type is string"},
		"length of an integer":          {"{type: integer, allOf: [{maxLength: 1}]}", "spec.attributes[in].schema.allOf[0].maxLength" + noEffect + "string and the type is integer"},
		"items of a text":               {"{type: string, minItems: 1}", "schema.minItems" + noEffect},
		"required fields of a list":     {"{type: array, items: {type: string}, required: [a]}", "schema.required" + noEffect},
		"no number in between":          {"{type: number, minimum: 2, maximum: 1.5}", "schema.minimum is 2 and maximum is 1.5: no value is between them"},
		"no number strictly in between": {"{type: integer, minimum: 2, maximum: 2, exclusiveMaximum: true}", "no value is between them"},
		"no length in between":          {"{type: string, minLength: 3, maxLength: 2}", "schema.minLength is 3 and maxLength is 2"},
		"unknown required field":        {"{type: object, properties: {a: {type: string}}, required: [b]}", `schema.required has "b", which is not one of properties`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := crdbuild.Consistent(build(t, define(t, strings.Replace(records, "description: A reserved word., schema: {type: string, maxLength: 9}", "description: A., schema: "+tt.schema, 1))))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v; want %s", err, tt.want)
			}
		})
	}
}

func TestUnusualSchemasAreAccepted(t *testing.T) {
	t.Parallel()

	for name, schema := range map[string]string{
		"values of all types":     "{type: object, properties: {a: {type: integer, enum: [1, 2]}, b: {type: number, enum: [1, 1.5]}, c: {type: boolean, enum: [true]}, d: {type: array, items: {type: string}, enum: [[a], []]}}}",
		"values of alternatives":  "{type: string, enum: [a, b], anyOf: [{enum: [a]}, {pattern: b}], not: {enum: [b]}}",
		"numbers or texts":        `{type: object, properties: {a: {x-kubernetes-int-or-string: true, enum: [1, "50%"], minimum: 0}}}`,
		"fields that are unknown": "{type: object, x-kubernetes-preserve-unknown-fields: true, required: [a], properties: {b: {type: string}}}",
		"one number":              "{type: integer, minimum: 2, maximum: 2}",
		"required keys of a map":  "{type: object, additionalProperties: {type: string}, required: [a]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := crdbuild.Consistent(build(t, define(t, strings.Replace(records, "description: A reserved word., schema: {type: string, maxLength: 9}", "description: A., schema: "+schema, 1)))); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFaultsOfRulesNameTheRule(t *testing.T) {
	t.Parallel()

	for rule, want := range map[string]string{
		"self.zone +":                       "spec.rules[1].rule: ERROR: <input>:1:12: Syntax error: ",
		"self.nothing == 1":                 "spec.rules[1].rule: compilation failed: ERROR: <input>:1:",
		"self.id":                           "spec.rules[1].rule: ",
		"self.values.all(self, self != '')": "spec.rules[1].rule: the variable of a macro is named self: use another name",
		"self.values.all(a, a.matches(self.zone + self.zone + self.zone)) && self.values.all(a, self.values.all(b, self.values.all(c, self.values.all(d, self.values.all(e, self.values.all(f, a+b+c+d+e != f))))))": "spec.rules[1].rule: estimated rule cost exceeds",
	} {
		d := define(t, records)
		d.Spec.Rules = []v1alpha1.ExternalRule{{Rule: "true", Message: "never"}, {Rule: rule, Message: "it is wrong"}}
		if _, err := crdbuild.Build(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", rule, err, want)
		}
	}
}

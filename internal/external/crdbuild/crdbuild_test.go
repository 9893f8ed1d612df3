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
		"missing attribute":                {[]string{"type: A,", ""}, "spec.properties: Required value: properties.type is missing: a DNSRecord requires it unless it is absent"},
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
	var columns []string
	for _, c := range build(t, remote).Spec.Versions[0].AdditionalPrinterColumns {
		columns = append(columns, c.Name+" "+c.JSONPath)
	}
	want := []string{
		"Ensure .spec.ensure", "Node .status.actingNode", `Ready .status.conditions[?(@.type=="Ready")].status`, `Reason .status.conditions[?(@.type=="Ready")].reason`,
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
OutOfSync .status.nodes.outOfSync
Failed .status.nodes.failed
Noop .status.nodes.noop
Disabled .status.nodes.disabled
Unknown .status.nodes.unknown
Ready .status.conditions[?(@.type=="Ready")].status
Reason .status.conditions[?(@.type=="Ready")].reason
Age .metadata.creationTimestamp
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
		"nullable":        {"{type: string, nullable: true}", "spec.attributes[zone].schema.nullable is not available"},
		"pattern":         {`{type: string, pattern: "("}`, "spec.attributes[zone].schema.pattern"},
		"invalid rule":    {"{type: string, x-kubernetes-validations: [{rule: self +}]}", "spec.attributes[zone].schema.x-kubernetes-validations[0].rule"},
		"costly rule":     {"{type: string, x-kubernetes-validations: [{rule: \"self.matches(self)\"}, {rule: \"self.split('').all(a, self.split('').all(b, a == b))\"}]}", "spec.attributes[zone].schema.x-kubernetes-validations[1].rule: Forbidden: estimated rule cost exceeds"},
		"not structural":  {"{type: string, anyOf: [{type: string}]}", "spec.attributes[zone].schema.anyOf[0].type"},
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

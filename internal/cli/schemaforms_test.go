package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// forms are schemas in the forms that authors may write, with values that fit them and others.
var forms = map[string]struct {
	schema    string
	good, bad []string
}{
	"boolean":                    {"{type: boolean}", []string{"true", "false"}, []string{`"true"`, "1", "[]"}},
	"integer":                    {"{type: integer, minimum: 2}", []string{"2", "9007199254740993"}, []string{"1", "2.5", `"2"`}},
	"number":                     {"{type: number}", []string{"1", "1.5", "-1e3"}, []string{`"1"`, "true"}},
	"int or string":              {"{x-kubernetes-int-or-string: true}", []string{"1", `"50%"`}, []string{"true", "1.5", "[1]", "{a: 1}"}},
	"int or string, limited":     {`{x-kubernetes-int-or-string: true, minimum: 1, pattern: "^[0-9]+%$"}`, []string{"1", `"50%"`}, []string{"0", `"50"`}},
	"int or string, generated":   {`{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: "^[0-9]+%$"}`, []string{"0", `"50%"`}, []string{`"x"`, "true"}},
	"listed types":               {"{type: [string, integer]}", []string{"1", "a"}, []string{"true", "1.5", "[a]"}},
	"text or boolean":            {"{type: [string, boolean]}", []string{"a", `"true"`, "true"}, []string{"1", "[a]", "{a: b}"}},
	"number or boolean":          {"{type: [number, boolean]}", []string{"1", "1.5", "true"}, []string{"a", "[1]"}},
	"integer or boolean":         {"{type: [integer, boolean], minimum: 3}", []string{"3", "false"}, []string{"1", "3.5", "a"}},
	"alternatives":               {"{anyOf: [{type: string, minLength: 2}, {type: boolean}]}", []string{"ab", "false"}, []string{"a", "1"}},
	"one of":                     {`{oneOf: [{type: string, pattern: "^a"}, {type: string, pattern: "z$"}, {type: integer, maximum: 5}]}`, []string{"ab", "yz", "5"}, []string{"az", "b", "6", "true"}},
	"one of numbers":             {"{oneOf: [{type: number, minimum: 10}, {type: integer, maximum: 20}]}", []string{"10.5", "5", "21"}, []string{"15", "5.5", "a"}},
	"nullable":                   {"{type: string, nullable: true, maxLength: 3}", []string{"null", "abc"}, []string{"abcd", "1"}},
	"nullable enum":              {"{type: string, nullable: true, enum: [a, b]}", []string{"null", "a"}, []string{"c"}},
	"listed null":                {`{type: [integer, "null"]}`, []string{"null", "1"}, []string{"a", "1.5"}},
	"alternative null":           {`{anyOf: [{type: string, enum: [a]}, {type: "null"}]}`, []string{"null", "a"}, []string{"b", "1"}},
	"null of several":            {`{oneOf: [{type: "null"}, {type: boolean}, {type: string, maxLength: 3}]}`, []string{"null", "true", "abc"}, []string{"abcd", "1"}},
	"values of several types":    {"{enum: [auto, 1, true]}", []string{"auto", "1", "true"}, []string{"other", "2", "false"}},
	"constant":                   {"{const: fixed}", []string{"fixed"}, []string{"other", "1"}},
	"text or list":               {"{anyOf: [{type: string}, {type: array, maxItems: 2, items: {type: string, maxLength: 3}}]}", []string{"a", "[]", "[abc, d]"}, []string{"[abcd]", "[1]", "[a, b, c]", "1", "{a: b}"}},
	"object or boolean":          {"{oneOf: [{type: boolean}, {type: object, required: [a], properties: {a: {type: integer}}}]}", []string{"true", "{a: 1}"}, []string{"{}", "{a: b}", "a", "[1]"}},
	"list of several types":      {"{type: array, items: {type: [string, integer]}}", []string{"[]", "[1, a]"}, []string{"[true]", "[[a]]", "a"}},
	"map of several types":       {"{type: object, additionalProperties: {type: [number, boolean]}}", []string{"{}", "{a: 1.5, b: true}"}, []string{"{a: b}", "[]"}},
	"fields that may be null":    {`{type: object, properties: {a: {type: [string, "null"]}, b: {x-kubernetes-int-or-string: true}}}`, []string{"{a: null, b: 1}", "{a: x}"}, []string{"{a: 1}", "{b: true}", "{c: 1}"}},
	"fields of any value":        {"{type: object, properties: {a: true, b: {}}}", []string{"{a: 1, b: [x]}", "{a: {b: 1}}"}, []string{"{c: 1}", "1"}},
	"fields of any name":         {"{type: object, properties: {a: {type: integer}}, additionalProperties: true}", []string{"{a: 1, b: x}"}, []string{"{a: x}"}},
	"fields of no other name":    {"{type: object, properties: {a: {type: integer}}, additionalProperties: false}", []string{"{a: 1}"}, []string{"{b: 1}"}},
	"any value":                  {"{x-kubernetes-preserve-unknown-fields: true}", []string{"a", "1", "true", "[1, a]", "{a: {b: 1}}"}, nil},
	"not a text":                 {"{type: [string, integer], not: {type: string, minLength: 3}}", []string{"1", "ab"}, []string{"abc", "true"}},
	"all of":                     {"{allOf: [{type: [string, boolean]}, {type: [string, integer], minLength: 2}]}", []string{"ab"}, []string{"a", "1", "true"}},
	"conditions without a type":  {"{type: string, anyOf: [{maxLength: 1}, {pattern: ^long}]}", []string{"a", "longer"}, []string{"ab", "1"}},
	"conditions with their type": {"{type: string, anyOf: [{type: string, maxLength: 1}, {type: string, pattern: ^long}]}", []string{"a", "longer"}, []string{"ab", "1"}},
}

func TestFormsOfSchemasHaveTheSameVerdictInAClusterAndInFiles(t *testing.T) {
	t.Parallel()

	var attributes strings.Builder
	names := map[string]string{}
	for name, form := range forms {
		names[name] = strings.NewReplacer(" ", "_", ",", "").Replace(name)
		fmt.Fprintf(&attributes, "  - {name: %s, description: It is %s., schema: %s}\n", names[name], strings.ReplaceAll(name, ",", ""), form.schema)
	}
	s := startSamples(t, attributes.String())
	for name, form := range forms {
		for i, value := range append(form.good, form.bad...) {
			want := names[name]
			if i < len(form.good) {
				want = ""
			}
			s.verdict(t, fmt.Sprintf("{nodeSelector: {}, properties: {%s: %s}}", names[name], value), want)
		}
	}
}

func TestRequiredAttributesOfAllFormsAreMissedInAClusterAndInFiles(t *testing.T) {
	t.Parallel()

	names := []string{"plain", "several", "mixed", "whatever", "void"}
	var attributes strings.Builder
	for i, schema := range []string{"{type: boolean}", "{type: [string, boolean]}", "{x-kubernetes-int-or-string: true}", "{}", "{type: string, nullable: true}"} {
		fmt.Fprintf(&attributes, "  - {name: %s, description: It is required., required: true, schema: %s}\n", names[i], schema)
	}
	s := startSamples(t, attributes.String())
	all := []string{"plain: true", "several: a", "mixed: 1", "whatever: [1]", "void: null"}
	s.verdict(t, "{nodeSelector: {}, properties: {"+strings.Join(all, ", ")+"}}", "")
	s.verdict(t, "{nodeSelector: {}, ensure: absent}", "")
	s.verdict(t, "{nodeSelector: {}, ensure: absent, properties: {name: a}}", "")
	s.verdict(t, "{nodeSelector: {}}", "properties")
	for i, name := range names {
		rest := strings.Join(slices.Delete(slices.Clone(all), i, i+1), ", ")
		s.verdict(t, "{nodeSelector: {}, properties: {"+rest+"}}", name)
		s.verdict(t, "{nodeSelector: {}, ensure: present, properties: {"+rest+"}}", name)
		s.verdict(t, "{nodeSelector: {}, ensure: absent, properties: {"+rest+"}}", "")
	}
}

func TestRulesOverSeveralAttributesHaveTheSameVerdictInAClusterAndInFiles(t *testing.T) {
	t.Parallel()

	s := startSamples(t, `  - {name: low, description: The least., schema: {type: integer}}
  - {name: high, description: The most., schema: {type: integer}}
  - {name: mode, description: A word., schema: {type: string, maxLength: 9}}
  - {name: list, description: Words., schema: {type: array, maxItems: 4, items: {type: string, maxLength: 9}}}
`, `  rules:
  - {rule: "!has(self.low) || !has(self.high) || self.low <= self.high", message: low must not exceed high}
  - {rule: "has(self.mode) == has(self.list)", message: set both of mode and list}
  - {rule: "!has(self.list) || self.list.all(e, e != self.mode) // \"self\" is a word, too: ü self", message: list has mode}
  - {rule: "!has(self.mode) || self.mode != \"self\"", message: mode is self}
`)
	for spec, want := range map[string]string{
		"properties: {low: 1, high: 2}": "", "properties: {low: 3, high: 2}": "low must not exceed high", "properties: {low: 1}": "", "properties: {}": "", "ensure: present": "",
		"properties: {mode: a}": "set both of mode and list", "properties: {mode: a, list: [b]}": "", "properties: {mode: a, list: [b, a]}": "list has mode",
		"ensure: absent, properties: {mode: a}": "", "ensure: present, properties: {mode: a}": "set both of mode and list",
		"properties: {mode: self, list: []}": "mode is self", "properties: {low: 3, high: 2, mode: a}": "set both of mode and list",
	} {
		s.verdict(t, "{nodeSelector: {}, "+spec+"}", want)
	}
}

// samples are a cluster and a file with the type Sample.
type samples struct {
	k8s  client.Client
	file string
}

// startSamples builds the type with attributes and more fields of its spec.
func startSamples(t *testing.T, attributes string, more ...string) samples {
	t.Helper()
	dir := t.TempDir()
	put(t, dir+"/type.yaml", `apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: samples}
spec:
  kind: Sample
  version: "1"
  description: A sample.
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
`+attributes+`  providers: [{name: plain, command: ["true"]}]
  source: {hostPath: /opt/sample}
`+strings.Join(more, ""))
	built := fettle(t, "", "type", "build", dir)
	if built.code != 0 {
		t.Fatal(built.err)
	}
	put(t, dir+"/built.yaml", built.out)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(strings.SplitN(built.out, "\n---\n", 2)[0]), crd); err != nil {
		t.Fatal(err)
	}
	config, _ := controlplane.Start(t)
	s := samples{client.WithFieldValidation(controlplane.Admin(t, config), metav1.FieldValidationStrict), dir + "/built.yaml"}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil { // waits until it is served
		t.Fatal(err)
	}
	return s
}

// verdict compares what an API server and `fettle validate` say about a resource: want is "" if they accept it, and otherwise a part of
// both errors.
func (s samples) verdict(t *testing.T, spec, want string) {
	t.Helper()
	text := "{apiVersion: types.fettle.dev/v1alpha1, kind: Sample, metadata: {name: a}, spec: " + spec + "}"
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	inCluster, inFiles := "", fettle(t, text, "validate", "-f", s.file, "-f", "-")
	if err := s.k8s.Create(t.Context(), object, client.DryRunAll); err != nil {
		inCluster = err.Error()
	}
	said := func(accepts bool, message string) bool {
		return accepts == (want == "") && strings.Contains(message, want)
	}
	if !said(inCluster == "", inCluster) || !said(inFiles.code == 0, inFiles.err) {
		t.Errorf("%s: want %q; the API server says %q, and fettle %q", spec, want, inCluster, inFiles.err)
	}
}

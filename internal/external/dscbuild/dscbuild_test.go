package dscbuild_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/dscbuild"
)

// resource returns a manifest with a schema.
func manifestOf(schema string) string {
	return `{"type": "Example/Thing", "version": "1.0.0", "get": {"executable": "thing", "input": "stdin"},
		"set": {"executable": "thing", "input": "stdin"}, "schema": {"embedded": ` + schema + `}}`
}

// read builds the types of a manifest with an overlay; "" is none.
func read(t *testing.T, manifest, overlay string, run dscbuild.Runner) ([]*v1alpha1.ExternalType, error) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"thing.dsc.resource.json": manifest, "data.txt": "data"}
	if overlay != "" {
		files["thing.fettle.yaml"] = "apiVersion: fettle.dev/v1alpha1\nkind: ExternalType\n" + overlay
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dscbuild.Read(t.Context(), filepath.Join(dir, "thing.dsc.resource.json"), run)
}

// attributes returns the attributes of the only type, each with its behaviour and schema, in their order.
func attributes(t *testing.T, all []*v1alpha1.ExternalType) []string {
	t.Helper()
	d, err := definition.New(all[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crdbuild.Build(d); err != nil {
		t.Errorf("an API server would reject the definition: %v", err)
	}
	var lines []string
	for _, a := range d.Spec.Attributes {
		line := fmt.Sprintf("%s %s %s", a.Name, a.Behaviour, a.Schema.Raw)
		if a.Sensitive {
			line += " sensitive"
		}
		if a.Required {
			line += " required"
		}
		lines = append(lines, line)
	}
	return lines
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSchemasBecomeAttributes(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		property, want string
		checked        bool // by the schema of the resource, too
	}{
		"text":                        {`{"type":"string","minLength":1,"title":"A"}`, `p Property {"minLength":1,"type":"string"}`, false},
		"a default":                   {`{"type":"string","default":"x"}`, `p Property {"type":"string"}`, true},
		"null":                        {`{"type":["string","null"],"enum":["a",null]}`, `p Property {"enum":["a"],"type":"string"}`, false},
		"alternative null":            {`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `p Property {"type":"integer"}`, false},
		"constants":                   {`{"oneOf":[{"const":"a","title":"A"},{"const":"b"}]}`, `p Property {"enum":["a","b"],"type":"string"}`, false},
		"constants with more":         {`{"oneOf":[{"const":"a","minLength":1},{"const":"b"}]}`, `p Property {"enum":["a","b"],"type":"string"}`, true},
		"a reference":                 {`{"$ref":"#/$defs/word","description":"w"}`, `p Property {"pattern":"^[a-z]+$","type":"string"}`, false},
		"a reference with limits":     {`{"$ref":"#/$defs/word","pattern":"^a"}`, `p Property {"pattern":"^a","type":"string"}`, true},
		"exclusive limits":            {`{"type":"number","exclusiveMinimum":0,"maximum":1}`, `p Property {"exclusiveMinimum":true,"maximum":1,"minimum":0,"type":"number"}`, false},
		"exclusive flags":             {`{"type":"number","minimum":0,"exclusiveMinimum":true}`, `p Property {"exclusiveMinimum":true,"minimum":0,"type":"number"}`, false},
		"a list":                      {`{"type":"array","items":{"type":"string"}}`, `p Property {"items":{"type":"string"},"type":"array"}`, false},
		"a list of anything":          {`{"type":"array"}`, `p Property {"items":{"x-kubernetes-preserve-unknown-fields":true},"type":"array"}`, false},
		"unique elements":             {`{"type":"array","items":{"type":"string"},"uniqueItems":true}`, `p Property {"items":{"type":"string"},"type":"array"}`, true},
		"an object":                   {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, `p Property {"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, false},
		"an open object":              {`{"type":"object"}`, `p Property {"type":"object","x-kubernetes-preserve-unknown-fields":true}`, false},
		"a map":                       {`{"type":"object","additionalProperties":{"type":"integer"}}`, `p Property {"additionalProperties":{"type":"integer"},"type":"object"}`, false},
		"a nested alternative":        {`{"type":"object","properties":{"a":{"type":["string","integer"]}}}`, `p Property {"properties":{"a":{"type":["string","integer"]}},"type":"object","x-kubernetes-preserve-unknown-fields":true}`, false},
		"several types":               {`{"type":["string","integer","null"],"title":"P"}`, `p Property {"type":["string","integer"]}`, false},
		"several types with more":     {`{"type":["string","integer"],"minimum":1}`, `p Property {"type":["string","integer"]}`, true},
		"alternative types":           {`{"anyOf":[{"type":"integer","minimum":1},{"type":"string"},{"type":"null"}]}`, `p Property {"type":["integer","string"]}`, true},
		"alternatives for anything":   {`{"oneOf":[{"type":"integer"},{"minimum":1}]}`, `p Property {"x-kubernetes-preserve-unknown-fields":true}`, true},
		"anything":                    {`{}`, `p Property {"x-kubernetes-preserve-unknown-fields":true}`, false},
		"true":                        {`true`, `p Property {"x-kubernetes-preserve-unknown-fields":true}`, false},
		"several types, only written": {`{"type":["string","integer"],"writeOnly":true}`, `p Parameter {"type":["string","integer"]} sensitive`, true},
		"a condition":                 {`{"type":"integer","not":{"const":3}}`, `p Property {"type":"integer"}`, true},
		"a time":                      {`{"type":"string","format":"date-time"}`, `p Property {"format":"date-time","type":"string"}`, false},
		"another format":              {`{"type":"string","format":"semver"}`, `p Property {"type":"string"}`, false},
		"only read":                   {`{"type":"integer","readOnly":true}`, `p ReadOnly {"type":"integer"}`, false},
		"only written":                {`{"type":"boolean","writeOnly":true}`, `p Parameter {"type":"boolean"}`, false},
		"text that is only written":   {`{"type":"string","writeOnly":true}`, `p Parameter {"type":"string"} sensitive`, false},
		"a password":                  {`{"type":"string","format":"password"}`, `p Property {"format":"password","type":"string"} sensitive`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			all, err := read(t, manifestOf(`{"type":"object","required":["name"],"$defs":{"word":{"type":"string","pattern":"^[a-z]+$"}},"properties":{"name":{"type":"string"},"p":`+c.property+`}}`), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, []string{`name Namevar {"type":"string"}`, c.want}, attributes(t, all))
			equal(t, c.checked, all[0].Spec.DSC.Schema != nil)
		})
	}
}

func TestSchemasAreRefusedWithAReason(t *testing.T) {
	t.Parallel()

	deep := `"a0":{"type":"object","properties":{"x":{"type":"string"}}}`
	for i := 1; i < 30; i++ {
		deep += fmt.Sprintf(`,"a%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/a%d"},"y":{"$ref":"#/$defs/a%d"}}}`, i, i-1, i-1)
	}
	for property, want := range map[string]string{
		`{"$ref":"#/$defs/loop"}`:                      `the schema refers to itself by #/$defs/loop: give it a limited depth`,
		`{"$ref":"https://example.com/x"}`:             `only those that begin with #/ are resolved`,
		`{"$ref":"#/$defs/none"}`:                      `leads nowhere`,
		`{"$ref":"#/$defs/a29"}`:                       `more than 20000 parts`,
		`false`:                                        `properties.p: its schema is false`,
		`{"type":"string","pattern":"(?!x)"}`:          `is not one of RE2`,
		`{"type":"string"},"a-b":{"type":"string"}`:    `properties.a-b: the name cannot be that of an attribute`,
		`{"type":"string"},"ensure":{"type":"string"}`: `properties.ensure: the name cannot be that of an attribute`,
	} {
		_, err := read(t, manifestOf(`{"type":"object","required":["name"],"$defs":{"loop":{"type":"object","properties":{"l":{"$ref":"#/$defs/loop"}}},`+deep+`},"properties":{"name":{"type":"string"},"p":`+property+`}}`), "", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", property, err, want)
		}
	}
}

const twoKeys = `{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"string"}}}`

func TestOverlayCompletesTheManifest(t *testing.T) {
	t.Parallel()

	all, err := read(t, manifestOf(twoKeys), `metadata: {name: widgets}
spec:
  kind: Widget
  attributes: [{name: b, behaviour: Namevar}, {name: a, behaviour: Namevar}, {name: c, sensitive: true, description: The key.}]
  providers: [{needs: {remedy: install thing}}]
  source: {files: {data.txt: ""}}
  timeoutSeconds: 7
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []string{`b Namevar {"type":"integer"} required`, `a Namevar {"type":"string"} required`, `c Property {"type":"string"} sensitive`}, attributes(t, all))
	s := all[0].Spec
	equal(t, []string{"widgets", "Widget", "1.0.0", "The key.", "thing", "install thing", "data"},
		[]string{all[0].Name, s.Kind, s.Version, s.Attributes[2].Description, s.Providers[0].Needs.Commands[0], s.Providers[0].Needs.Remedy, s.Source.Files["data.txt"]})
}

func TestOverlaysAreRefusedWithAReason(t *testing.T) {
	t.Parallel()

	for overlay, want := range map[string]string{
		"":                                "in thing.fettle.yaml, set the behaviour Namevar of some of a, b, spec.dsc.named if none does, or spec.dsc.singleton",
		"spec: {attributes: [{name: d}]}": `thing.fettle.yaml has the attribute "d", which the schema of the manifest does not have`,
		"spec: {colours: []}":             `unknown field`,
		"spec: {source: {files: {../../etc/passwd: \"\"}}}": "../../etc/passwd",
		"spec: {dsc: {existence: a}}":                       "it needs an enum with Present and Absent",
	} {
		_, err := read(t, manifestOf(twoKeys), overlay, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", overlay, err, want)
		}
	}
}

func TestEnsureComesFromTheSchema(t *testing.T) {
	t.Parallel()

	for property, want := range map[string]string{
		`"x":{"type":"string"}`:                                  `{"existence":"","ensure":{"features":{"absent":"removable"},"values":["present"]},"features":null}`,
		`"_exist":{"$ref":"https://example.com/exist.json"}`:     `{"existence":"_exist","ensure":{"features":{"absent":"removable"},"values":["present"]},"features":null}`,
		`"Ensure":{"type":"string","enum":["Absent","Present"]}`: `{"existence":"Ensure","ensure":{"default":"present","features":{"absent":"removable"},"values":["present"]},"features":["removable"]}`,
		`"ensure":{"enum":["present","absent","latest"]}`:        `{"existence":"ensure","ensure":{"default":"present","features":{"absent":"removable"},"values":["present","latest"]},"features":["removable"]}`,
	} {
		all, err := read(t, manifestOf(`{"type":"object","required":["name"],"properties":{"name":{"type":"string"},`+property+`}}`), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		attributes(t, all)
		s := all[0].Spec
		got, err := yaml.Marshal(map[string]any{"existence": s.DSC.Existence, "ensure": s.Ensure, "features": s.Providers[0].Features})
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := yaml.JSONToYAML([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, string(wanted), string(got))
	}
}

func TestSchemaOfACommandIsFrozen(t *testing.T) {
	t.Parallel()

	manifest := strings.Replace(manifestOf(""), `{"embedded": }`, `{"command": {"executable": "data.txt", "args": ["schema"]}}`, 1)
	run := func(_ context.Context, c dscbuild.Command) ([]byte, error) {
		equal(t, []string{"./data.txt", "schema", "data"}, []string{c.Executable, c.Args[0], c.Files["data.txt"]})
		return []byte(`{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}`), nil
	}
	all, err := read(t, manifest, "", run)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []string{`name Namevar {"type":"string"}`}, attributes(t, all))
	fails := func(context.Context, dscbuild.Command) ([]byte, error) { return nil, errors.New("no room") }
	if _, err := read(t, manifest, "", fails); err == nil || !strings.Contains(err.Error(), "schema.command: no room") {
		t.Errorf("the error is %v", err)
	}
}

func TestSecretsThatOthersCouldSeeAreRefused(t *testing.T) {
	t.Parallel()

	secret := `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"key":{"type":"string","format":"password"},"text":{"type":"string"}}}`
	for old, replacement := range map[string]string{
		`"set": {"executable": "thing", "input": "stdin"}`:   `"set": {"executable": "thing", "input": "env"}`,
		`"get": {"executable": "thing", "input": "stdin"}, `: ``,
	} {
		manifest := strings.Replace(manifestOf(secret), old, replacement, 1)
		if replacement == "" {
			manifest = strings.Replace(manifestOf(secret), `"set": {"executable": "thing", "input": "stdin"}`, `"set": {"executable": "thing", "args": [{"jsonInputArg": "-i"}]}`, 1)
		}
		all, err := read(t, manifest, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		want := "spec.attributes[key] is sensitive, but the command set gets it in arguments or the environment"
		if _, err := definition.New(all[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
		all[0].Spec.Attributes[1].Sensitive = false
		d, err := definition.New(all[0])
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Spec.Attributes {
			if d.CanBeSecret(&d.Spec.Attributes[i]) {
				t.Errorf("%s can come from a Secret", d.Spec.Attributes[i].Name)
			}
		}
	}
}

func TestPowerShellFoldsCaseAndEmptyValues(t *testing.T) {
	t.Parallel()

	manifest := `{"type": "Microsoft.Adapter/PowerShell", "version": "1.0.0", "kind": "adapter", "adapter": {"list": {"executable": "pwsh", "args": ["list"]}, "inputKind": "single"},
		"get": {"executable": "pwsh", "input": "stdin"}, "set": {"executable": "pwsh", "input": "stdin"}}`
	run := func(context.Context, dscbuild.Command) ([]byte, error) {
		return []byte(`{"type":"A/B","version":"2","capabilities":["get","set"],"properties":["Name","Text","Ensure"]}` + "\n"), nil
	}
	overlay := "spec: {dsc: {adapted: {type: A/B}}, attributes: [{name: Name, behaviour: Namevar, schema: {type: string}}, {name: Text, schema: {type: string}}]}\n"
	all, err := read(t, manifest, overlay, run)
	if err != nil {
		t.Fatal(err)
	}
	attributes(t, all)
	s := all[0].Spec
	equal(t, []any{"B", "2", true, true, "Ensure", []string{"pwsh"}}, []any{s.Kind, s.Version, s.DSC.EmptyIsUnset, s.Attributes[1].CaseInsensitive, s.DSC.Existence, s.Providers[0].Needs.Commands})
	for overlay, want := range map[string]string{
		"":                                      "set spec.dsc.adapted.type in thing.fettle.yaml to one of the types that the adapter lists: A/B",
		"spec: {dsc: {adapted: {type: A/B}}}\n": "the adapter lists A/B without a schema: in thing.fettle.yaml, set spec.attributes[].schema of Name, Text",
	} {
		if _, err := read(t, manifest, overlay, run); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

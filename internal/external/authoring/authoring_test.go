package authoring_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/external/authoring"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

const record = `apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: records}
spec:
  kind: Record
  shortNames: [rr]
  version: 1.0.0
  description: Manages records.
  attributes:
  - {name: name, description: The name., behaviour: Namevar, schema: {type: string}}
  - {name: type, description: The type., behaviour: Namevar, schema: {type: string, enum: [A, TXT]}}
  - {name: ttl, description: The TTL., schema: {type: integer}}
  - {name: key, description: The key., sensitive: true, schema: {type: string}}
  - {name: id, description: The ID., behaviour: ReadOnly, schema: {type: string}}
  providers: [{name: default, command: [./main.py]}]
  source: {files: {main.py: "", lib.py: ../lib/lib.py, fettle.py: ""}}
`

const address = `apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: addresses}
base: ../record
fixed: {type: A, ttl: 60}
spec: {kind: Address, version: 2.0.0, description: Manages addresses.}
`

// write writes a tree of files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tree() map[string]string {
	return map[string]string{"record/type.yaml": record, "record/main.py": "#!/bin/main", "lib/lib.py": "shared", "address/type.yaml": address, "secret": "x"}
}

func TestTypesShareFilesOfDirectoriesBesideThem(t *testing.T) {
	t.Parallel()

	all, err := authoring.Read(t.Context(), filepath.Join(write(t, tree()), "record"), nil)
	if err != nil {
		t.Fatal(err)
	}
	files := all[0].Spec.Source.Files
	if files["main.py"] != "#!/bin/main" || files["lib.py"] != "shared" || !strings.Contains(files["fettle.py"], "class SimpleProvider") {
		t.Errorf("the files are %v", files)
	}
}

func TestATypeHasFixedValuesOfItsBase(t *testing.T) {
	t.Parallel()

	all, err := authoring.Read(t.Context(), filepath.Join(write(t, tree()), "address"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := definition.New(all[0])
	if err != nil {
		t.Fatal(err)
	}
	got := []string{d.Name, d.Spec.Kind, d.Spec.ProgramKind, d.Spec.Version, d.Spec.Description, strings.Join(d.Spec.ShortNames, " "), d.Spec.Source.Files["lib.py"]}
	for _, a := range d.Spec.Attributes[:3] {
		got = append(got, a.Default, string(a.Schema.Raw))
	}
	want := []string{
		"addresses", "Address", "Record", "2.0.0", "Manages addresses.", "", "shared",
		"", `{"type":"string"}`, `"A"`, `{"enum":["A"],"type":"string"}`, "60", `{"enum":[60],"type":"integer"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATypeHasNamevarsOfItsOwn(t *testing.T) {
	t.Parallel()

	files := tree()
	files["address/type.yaml"] = strings.Replace(address, "spec:", `namevars: [{name: host, programName: name, programValue: "{host}.example.org", schema: {type: string, pattern: "^[a-z]+$"}}]
spec:`, 1)
	all, err := authoring.Read(t.Context(), filepath.Join(write(t, files), "address"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := definition.New(all[0])
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]any{"host": "www", "type": "A", "ttl": "60"}
	programs := map[string]any{"name": "www.example.org", "type": "A", "ttl": "60"}
	if diff := cmp.Diff(programs, d.ProgramState(own)); diff != "" {
		t.Errorf("the program gets (-want +got):\n%s", diff)
	}
	back, foreign := d.OwnState(programs)
	if diff := cmp.Diff(own, back); diff != "" || foreign != "" {
		t.Errorf("of the program's state, %q is foreign (-want +got):\n%s", foreign, diff)
	}
	for _, other := range []string{"www.example.net", "example.org", ".example.or"} {
		if _, foreign := d.OwnState(map[string]any{"name": other, "type": "A"}); foreign != "name" {
			t.Errorf("%s is one of the kind", other)
		}
	}
	if got := []string{d.NameOf(own), d.CanonicalName(own), d.Spec.Attributes[0].Description}; !slices.Equal(got, []string{"www/A", "www.example.org/A", "The name."}) {
		t.Errorf("got %q", got)
	}
}

const greeting = `{"type": "Example/Greeting", "version": "0.1.0",
	"get": {"executable": "greeting.sh", "args": ["get"], "input": "stdin"}, "set": {"executable": "greeting.sh", "args": ["set"], "input": "stdin", "handlesExist": true},
	"schema": {"embedded": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "lang": {"type": "string", "enum": ["en", "de"]}, "_exist": {"type": "boolean"}}}}}`

const hello = `apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: hellos}
base: ../greeting/greeting.dsc.resource.json
fixed: {lang: en}
spec: {kind: Hello, version: 2.0.0, description: Manages hellos.}
`

func TestTheBaseOfATypeCanBeADSCResource(t *testing.T) {
	t.Parallel()

	dir := write(t, map[string]string{"greeting/greeting.dsc.resource.json": greeting, "greeting/greeting.sh": "#!/bin/program", "hello/type.yaml": hello})
	all, err := authoring.Read(t.Context(), filepath.Join(dir, "hello"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := definition.New(all[0])
	if err != nil {
		t.Fatal(err)
	}
	got := []string{d.Name, d.Spec.Kind, d.Spec.Version, string(d.Spec.Protocol), d.DSC.Manifest.Type, d.Spec.Source.Files["greeting.sh"]}
	for _, a := range d.Spec.Attributes {
		got = append(got, a.Name+a.Default+string(a.Schema.Raw))
	}
	want := []string{"hellos", "Hello", "2.0.0", "DSC", "Example/Greeting", "#!/bin/program", `name{"type":"string"}`, `lang"en"{"enum":["en"],"type":"string"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheProgramOfADSCResourceHasWhatItsManifestNames(t *testing.T) {
	t.Parallel()

	dir := write(t, map[string]string{"greeting.dsc.resource.json": greeting, "greeting.sh": "#!/bin/program"})
	file := filepath.Join(dir, "greeting.dsc.resource.json")
	all, err := authoring.Read(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := authoring.Program(file, all)
	if err != nil || len(files) != 2 {
		t.Errorf("the program has the files %v, %v", files, err)
	}
	delete(all[0].Spec.Source.Files, "greeting.sh")
	if _, err := authoring.Program(file, all); err == nil || !strings.Contains(err.Error(), "the program ./greeting.sh of ExternalType greetings is not an executable file in the directory") {
		t.Errorf("without its program, the error is %v", err)
	}
}

func TestFaultsOfBasesAndFiles(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct{ file, old, replacement, want string }{
		"no base":               {"address", "base: ../record\n", "", "fixed and namevars need base"},
		"missing base":          {"address", "../record", "../other", "no such file or directory"},
		"base further up":       {"address", "../record", "../../etc", `base "../../etc" is not a path to another directory beside this one`},
		"absolute base":         {"address", "../record", "/etc", `base "/etc" is not a path to another directory beside this one`},
		"base of itself":        {"address", "../record", "../address", "there are more than 8 types, one the base of the other"},
		"unknown attribute":     {"address", "type: A", "kind: A", `fixed has "kind", which is not an attribute of the base`},
		"impossible value":      {"address", "type: A", "type: MX", `fixed.type is "MX", which is not one of the values in its schema`},
		"list":                  {"address", "type: A", "type: [A]", "is not text, a number or a boolean"},
		"secret":                {"address", "type: A", "key: A", `fixed has "key", which is sensitive or ReadOnly`},
		"read-only attribute":   {"address", "type: A", "id: A", `fixed has "id", which is sensitive or ReadOnly`},
		"fields of the base":    {"address", "kind: Address", "kind: Address, timeoutSeconds: 3", "a type with a base has kind, shortNames, version, description and example"},
		"no Namevar":            {"address", "spec:", "namevars: [{name: time, programName: ttl}]\nspec:", `namevars has "time" with the programName "ttl", which is not a Namevar of the base`},
		"no schema":             {"address", "spec:", `namevars: [{name: name, programValue: "{name}."}]` + "\nspec:", `namevars has "name" without a schema`},
		"other fields":          {"address", "spec:", "namevars: [{name: host, programName: name, required: true}]\nspec:", `namevars has "host": it has name, programName, programValue, description, schema and default`},
		"unknown field":         {"address", "fixed:", "fixes:", "unknown field"},
		"missing file":          {"record", "../lib/lib.py", "../lib/other.py", "spec.source.files[lib.py]"},
		"file further up":       {"record", "../lib/lib.py", "../../etc/passwd", ""},
		"link that leads out":   {"record", "../lib/lib.py", "../lib/out", "spec.source.files[lib.py]"},
		"own file further away": {"record", `main.py: ""`, `main.py: "", ../secret: ""`, "spec.source.files[../secret]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := tree()
			key := tt.file + "/type.yaml"
			if !strings.Contains(files[key], tt.old) {
				t.Fatalf("%s has no %q", key, tt.old)
			}
			files[key] = strings.Replace(files[key], tt.old, tt.replacement, 1)
			dir := write(t, files)
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "lib/out")); err != nil {
				t.Fatal(err)
			}
			all, err := authoring.Read(t.Context(), filepath.Join(dir, tt.file), nil)
			if tt.want == "" { // it is not a path
				if err != nil || all[0].Spec.Source.Files["lib.py"] != tt.replacement {
					t.Errorf("got %v, %v", all, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

package dsc_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/golden"
)

// A form is a form of a manifest that DSC's published schema allows.
type form struct {
	name string            // for the table in the docs
	file string            // the name of the manifest
	text string            // of the manifest
	more map[string]string // other files beside it
	// want is a part of the reason if it is refused; "" if it is built.
	want string
	has  string // a part of the type
}

// Parts of manifests.
const (
	head    = `"$schema": "https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json", "type": "Example/Thing", "version": "1.0.0"`
	getSh   = `"get": {"executable": "sh", "args": ["thing.sh", "get"], "input": "stdin"}`
	setSh   = `"set": {"executable": "sh", "args": ["thing.sh", "set"], "input": "stdin"}`
	name    = `"name": {"type": "string"}`
	schema  = `"schema": {"embedded": {"type": "object", "required": ["name"], "properties": {` + name + `, "text": {"type": "string"}}}}`
	overlay = "apiVersion: fettle.dev/v1alpha1\nkind: ExternalType\nspec: "
	lister  = "#!/bin/sh\n" + `echo '{"type":"Example/Lamp","kind":"resource","version":"2.0.0","capabilities":["get","set"],"path":"lamp.psm1","directory":".","requireAdapter":"Example/Thing","properties":["name"],` + schema + `}'` + "\n"
	adapted = `"$schema": "https://aka.ms/dsc/schemas/v3/bundled/adaptedresource/manifest.json", "type": "Example/Lamp", "kind": "resource", "version": "2.0.0", "capabilities": ["get", "set"], "requireAdapter": "Example/Thing"`
)

func manifest(fields ...string) string { return "{" + strings.Join(fields, ", ") + "}" }

func embedded(properties string) string {
	return `"schema": {"embedded": {"type": "object", "required": ["name"], "properties": {` + name + `, ` + properties + `}}}`
}

func adapterOf(kind string) string {
	return manifest(head, `"kind": "adapter", "adapter": {"list": {"executable": "list.sh"}, "inputKind": "`+kind+`"}`, getSh, setSh)
}

// resourceForms are manifests of resources.
func resourceForms() []form {
	r := func(name, want string, fields ...string) form {
		return form{name: name, file: "x.dsc.resource.json", text: manifest(append([]string{head}, fields...)...), want: want}
	}
	withOverlay := r("several required properties, with a file that says which are Namevars", "", getSh, `"schema": {"embedded": {"type": "object", "required": ["name", "zone"], "properties": {`+name+`, "zone": {"type": "string"}}}}`)
	withOverlay.more = map[string]string{"x.fettle.yaml": overlay + "{attributes: [{name: zone, behaviour: Namevar}, {name: name, behaviour: Namevar}]}\n"}
	command := r("`schema.command`", "", getSh, `"schema": {"command": {"executable": "schema.sh", "args": [{"resourceTypeArg": "-t"}]}}`)
	command.more = map[string]string{"schema.sh": "#!/bin/sh\necho '{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":\"string\"}}}'\n"}
	return []form{
		r("`get` and a schema", "", getSh, schema),
		{name: "YAML", file: "x.dsc.resource.yaml", text: "$schema: https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json\ntype: Example/Thing\nversion: 1.0.0\nget: {executable: sh}\nschema: {embedded: {type: object, required: [name], properties: {name: {type: string}}}}\n"},
		r("`description`, `tags`, `metadata`, `deprecationMessage`, `exitCodes`", "", `"description": "A thing.", "tags": ["a"], "metadata": {"a": 1}, "deprecationMessage": "Use Example/Other.", "exitCodes": {"0": "Success", "1": "Failure"}`, getSh, schema),
		r("fields that are not known", "", `"manifestVersion": "1.0"`, strings.Replace(setSh, "{", `{"preTest": true, `, 1), getSh, schema),
		r("all arguments", "", `"get": {"executable": "sh", "args": ["a", {"jsonInputArg": "--input", "mandatory": true}, {"resourceTypeArg": "--type"}, {"resourceVersionArg": "--version"}, {"resourcePathArg": "--path", "includeQuotes": true}, {"adaptedContentArg": "--content"}]}`, setSh, schema),
		r("`input` `env`", "", getSh, `"set": {"executable": "sh", "input": "env"}`, schema),
		r("a sensitive property in arguments or the environment", "spec.attributes[text] is sensitive, but the command set gets it", getSh, `"set": {"executable": "sh", "input": "env"}`, embedded(`"text": {"type": "string", "format": "password"}`)),
		r("`set` with `handlesExist`, `implementsPretest`, `return`, `whatIfReturns` and `whatIfArg`", "", getSh, `"set": {"executable": "sh", "args": [{"whatIfArg": "-w"}], "input": "stdin", "handlesExist": true, "implementsPretest": true, "return": "stateAndDiff", "whatIfReturns": "state"}`, embedded(`"_exist": {"type": "boolean"}`)),
		r("`set` without input", "", getSh, `"set": {"executable": "sh"}`, schema),
		r("`test` with `return`", "", getSh, setSh, `"test": {"executable": "sh", "input": "stdin", "return": "stateAndDiff"}`, schema),
		r("`test` without `get`", "", `"test": {"executable": "sh", "input": "stdin", "return": "state"}`, schema),
		r("`delete`, `validate`, `whatIf`", "", getSh, setSh, `"delete": {"executable": "sh", "input": "stdin"}, "validate": {"executable": "sh", "input": "stdin"}, "whatIf": {"executable": "sh", "input": "stdin"}`, schema),
		r("`export` with `supportsFiltering`, `schema` or `return`", "", getSh, `"export": {"executable": "sh", "supportsFiltering": true, "return": "state"}`, schema),
		r("`export` without `get`", "get is missing", `"export": {"executable": "sh"}`, schema),
		r("`requireSecurityContext` `current`, `elevated`", "", getSh, strings.Replace(setSh, "{", `{"requireSecurityContext": "elevated", `, 1), schema),
		r("`requireSecurityContext` `restricted`", "set.requireSecurityContext restricted is refused", getSh, strings.Replace(setSh, "{", `{"requireSecurityContext": "restricted", `, 1), schema),
		r("`condition` that requires commands", "", `"condition": "[not(equals(tryWhich('pwsh'), null()))]"`, getSh, schema),
		r("`condition` that never holds", `it is never true`, `"condition": "[false()]"`, getSh, schema),
		r("another `condition`", `the use of equals is more than to require commands by tryWhich`, `"condition": "[equals(systemRoot(), '/')]"`, getSh, schema),
		command,
		r("no schema", "schema is missing", getSh),
		r("no required property: each object is an instance", "", getSh, `"schema": {"embedded": {"type": "object", "properties": {"text": {"type": "string"}}}}`),
		r("several required properties", "set the behaviour Namevar of some of name, zone", getSh, `"schema": {"embedded": {"type": "object", "required": ["name", "zone"], "properties": {`+name+`, "zone": {"type": "string"}}}}`),
		withOverlay,
		r("`$id`, `$ref` and `$defs` in a schema", "", getSh, `"schema": {"embedded": {"$id": "https://example.com/thing.json", "type": "object", "required": ["name"], "properties": {`+name+`, "$id": {"type": "string", "readOnly": true}, "text": {"$ref": "#/$defs/text"}}, "$defs": {"text": {"type": "string"}}}}`),
		r("a property that may be null", "", getSh, embedded(`"text": {"type": ["string", "null"]}, "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]}`)),
		r("several types for a property", "", getSh, embedded(`"size": {"type": ["integer", "string"]}, "input": {"type": ["string", "boolean", "integer", "object", "array"]}`)),
		r("alternatives for a property", "", getSh, embedded(`"size": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[0-9]+%$"}]}`)),
		r("a property with any value", "", getSh, embedded(`"value": {}, "other": true`)),
		r("canonical properties", "", getSh, setSh, embedded(`"_exist": {"type": "boolean"}, "_purge": {"type": "boolean"}, "_inDesiredState": {"type": "boolean"}, "_restartRequired": {"type": "array"}, "_metadata": {"type": "object"}, "_name": {"type": "string"}`)),
		r("a reference to another document", "only those that begin with #/ are resolved", getSh, embedded(`"text": {"$ref": "https://example.com/text.json"}`)),
		r("a schema that contains itself", "the schema refers to itself", getSh, embedded(`"text": {"$ref": "#/properties/text"}`)),
		r("a pattern with lookahead", "is refused, because it is not one of RE2", getSh, embedded(`"text": {"type": "string", "pattern": "^(?!a)"}`)),
		r("kind `group`", "kind group is refused", `"kind": "group"`, getSh, schema),
		r("kind `importer`, `resolve`", "kind importer is refused", `"kind": "importer", "resolve": {"executable": "sh", "input": "stdin"}`, getSh, schema),
		r("kind `exporter`", "kind exporter is refused", `"kind": "exporter", "export": {"executable": "sh"}`, getSh, schema),
	}
}

// adapterForms are manifests of adapters and of what they adapt.
func adapterForms() []form {
	lampOf := overlay + "{dsc: {adapted: {type: Example/Lamp}}}\n"
	listed := func(kind string) form {
		return form{
			name: "adapter with `inputKind` `" + kind + "`, whose list has the resource", file: "x.dsc.resource.json", text: adapterOf(kind),
			more: map[string]string{"list.sh": lister, "x.fettle.yaml": lampOf},
		}
	}
	beside := map[string]string{"adapter.dsc.resource.json": adapterOf("full"), "list.sh": lister}
	lampFields := schema
	return []form{
		listed("single"), listed("full"), listed("sequence"),
		{name: "adapter, of which no resource is chosen", file: "x.dsc.resource.json", text: adapterOf("full"), more: map[string]string{"list.sh": lister}, want: "set spec.dsc.adapted.type in x.fettle.yaml to one of the types that the adapter lists: Example/Lamp"},
		{name: "adapter without `list`", file: "x.dsc.resource.json", text: strings.Replace(adapterOf("single"), `"list": {"executable": "list.sh"}, `, "", 1), want: "adapter.list is missing: build its types from manifests of adapted resources"},
		{name: "adapter whose `list` cannot run on this machine", file: "x.dsc.resource.json", text: strings.Replace(adapterOf("full"), "list.sh", "no-such-shell", 1), want: `adapter.list: cannot run "no-such-shell"`},
		{name: "adapted resource with `path`, beside its adapter", file: "x.dsc.adaptedResource.json", text: manifest(adapted, `"path": "lamp.psm1"`, lampFields), more: beside},
		{name: "adapted resource with `content`", file: "x.dsc.adaptedResource.yaml", text: "type: Example/Lamp\nkind: resource\nversion: 2.0.0\ncapabilities: [get]\nrequireAdapter: Example/Thing\ncontent: {power: {key: /sys/power}}\nschema: {type: object, required: [name], properties: {name: {type: string}}}\n", more: beside},
		{name: "adapted resource without its adapter", file: "x.dsc.adaptedResource.json", text: manifest(adapted, `"path": "lamp.psm1"`, lampFields), want: "requireAdapter: there is no manifest of Example/Thing beside it"},
		{name: "adapted resource that cannot be read", file: "x.dsc.adaptedResource.json", text: strings.Replace(manifest(adapted, `"path": "lamp.psm1"`, lampFields), `["get", "set"]`, `["export"]`, 1), more: beside, want: "the resource lacks the capability get"},
	}
}

// listForms are lists of manifests, and extensions.
func listForms() []form {
	list := func(resources, adapted, extensions string) string {
		return `{"resources": [` + resources + `], "adaptedResources": [` + adapted + `], "extensions": [` + extensions + `]}`
	}
	thing, extension := manifest(head, getSh, schema), `{"$schema": "https://aka.ms/dsc/schemas/v3/bundled/extension/manifest.json", "type": "Example/Extension", "version": "1.0.0", "discover": {"executable": "sh"}}`
	other := strings.Replace(thing, "Example/Thing", "Example/Other", 1)
	adapter := strings.Replace(adapterOf("single"), `"list": {"executable": "list.sh"}, `, "", 1)
	group := strings.Replace(manifest(head, `"kind": "group"`, getSh, schema), "Example/Thing", "Example/Group", 1)
	return []form{
		{name: "list of resources and extensions, which are for DSC itself", file: "x.dsc.manifests.json", text: list(thing+", "+other, "", extension)},
		{name: "list of adapted resources, with their adapter", file: "x.dsc.manifests.json", text: list(adapter+", "+other, manifest(adapted, `"path": "lamp.psm1"`, schema), "")},
		{name: "list with several versions: the latest", file: "x.dsc.manifests.yaml", text: list(thing+", "+strings.Replace(thing, `"1.0.0"`, `"1.10.0"`, 1)+", "+strings.Replace(thing, `"1.0.0"`, `"1.9.0"`, 1), "", ""), has: "version: 1.10.0\n"},
		{name: "list with a refused manifest", file: "x.dsc.manifests.json", text: list(thing+", "+group, "", ""), want: "resources[1]: kind group is refused"},
		{name: "list with a refused manifest, of which another is chosen", file: "x.dsc.manifests.json", text: list(thing+", "+group, "", ""), more: map[string]string{"x.fettle.yaml": overlay + "{dsc: {manifest: {type: Example/Thing}}}\n"}},
		{name: "list of extensions", file: "x.dsc.manifests.json", text: list("", "", extension), want: "it has neither resources nor adaptedResources"},
		{name: "extension", file: "x.dsc.extension.json", text: extension, want: "it is an extension of DSC"},
	}
}

func TestFormsOfManifests(t *testing.T) {
	f := newFixture(t)
	const page = "../../../docs/external-types-dsc.md"
	var table strings.Builder
	table.WriteString("| Manifest | Result |\n|---|---|\n")
	for i, form := range slices.Concat(resourceForms(), adapterForms(), listForms()) {
		dir := filepath.Join(f.dir, fmt.Sprint(i))
		writeFile(t, filepath.Join(dir, form.file), form.text)
		for _, name := range slices.Sorted(maps.Keys(form.more)) {
			writeFile(t, filepath.Join(dir, name), form.more[name])
		}
		out, messages, code := f.run(t, "type", "build", filepath.Join(dir, form.file))
		reason := strings.ReplaceAll(strings.TrimSpace(messages), dir+"/", "")
		if (code == 0) != (form.want == "") || !strings.Contains(reason, form.want) {
			t.Errorf("%s: exit %d, %s\nwant %s", form.name, code, reason, form.want)
			continue
		}
		if !strings.Contains(out, form.has) {
			t.Errorf("%s: %q is not in\n%s", form.name, form.has, out)
		}
		fmt.Fprintf(&table, "| %s | %s |\n", form.name, result(reason))
	}
	before, rest, found := strings.Cut(readFile(t, page), "<!-- TestFormsOfManifests in test/suites/dsc writes this table -->\n")
	_, after, closed := strings.Cut(rest, "\n<!-- end of the table -->")
	if !found || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	golden.Text(t, page, before+"<!-- TestFormsOfManifests in test/suites/dsc writes this table -->\n"+table.String()+"\n<!-- end of the table -->"+after)
}

// result returns a result for the table.
func result(reason string) string {
	if reason == "" {
		return "built"
	}
	reason, _, _ = strings.Cut(reason, "\n")
	_, reason, _ = strings.Cut(reason, ": ") // the name of the file
	return "refused: " + strings.NewReplacer("|", `\|`, "<", "&lt;", `\n`, "; ").Replace(reason)
}

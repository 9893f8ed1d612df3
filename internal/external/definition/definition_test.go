package definition_test

import (
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

const zone = `
metadata: {name: zones}
spec:
  kind: Zone
  version: "1"
  description: Manages a zone.
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
  - {name: ttl, description: Seconds., schema: {type: integer}}
  providers:
  - {name: plain, command: [./main.sh]}
  source: {files: {main.sh: "#!/bin/sh\n"}}
`

func parse(t *testing.T, text string) *v1alpha1.ExternalType {
	t.Helper()
	var typ v1alpha1.ExternalType
	if err := yaml.Unmarshal([]byte(text), &typ); err != nil {
		t.Fatal(err)
	}
	return &typ
}

func TestDefaultsAreSet(t *testing.T) {
	t.Parallel()

	d, err := definition.New(parse(t, zone))
	if err != nil {
		t.Fatal(err)
	}
	switch s := d.Spec; {
	case s.Protocol != v1alpha1.ProtocolFettle, s.NamevarSeparator != "/", s.TimeoutSeconds != 300, s.Ensure.Default != "present",
		s.Attributes[1].Behaviour != v1alpha1.BehaviourProperty, s.Attributes[0].Required:
		t.Errorf("the spec is %+v", s)
	}
	if name, digest, err := definition.ParseRef(d.Ref()); name != "zones" || digest != d.Digest || err != nil {
		t.Errorf("the reference %q has %q and %q: %v", d.Ref(), name, digest, err)
	}
}

func TestDigestDependsOnTheContentOnly(t *testing.T) {
	t.Parallel()

	digest := func(text string) string {
		d, err := definition.New(parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return d.Digest
	}
	if digest(zone) != digest(strings.Replace(zone, "schema: {type: integer}", `schema: { "type" : "integer" }`, 1)) {
		t.Error("the way in which a schema is written changes the digest")
	}
	if digest(zone) == digest(strings.Replace(zone, "bin/sh", "bin/bash", 1)) {
		t.Error("another program has the same digest")
	}
}

func TestFaultsNameTheField(t *testing.T) {
	t.Parallel()

	for want, edit := range map[string][2]string{
		`metadata.name "Zones" is not the plural of the kind`:                     {"name: zones", "name: Zones"},
		`spec.kind "File" is a built-in kind`:                                     {"kind: Zone", "kind: File"},
		`does not know a part of spec: unknown field "weekday"`:                   {"version: ", "weekday: 7\n  version: "},
		"no attribute has the behaviour Namevar":                                  {"behaviour: Namevar, ", ""},
		"spec.attributes[ttl] is declared twice":                                  {"{name: name,", "{name: ttl,"},
		"ensure is a field of every resource":                                     {"{name: ttl,", "{name: ensure,"},
		`spec.attributes[ttl].schema.type has "float"`:                            {"type: integer", "type: float"},
		"spec.attributes[ttl].match is for lists":                                 {"{name: ttl,", "{name: ttl, match: Ordered,"},
		`spec.attributes[ttl].feature "fast" is not one of`:                       {"{name: ttl,", "{name: ttl, feature: fast,"},
		`spec.attributes[ttl].behaviour "Odd" is not known`:                       {"{name: ttl,", "{name: ttl, behaviour: Odd,"},
		"spec.attributes[ttl] is ReadOnly, so nobody can set it":                  {"{name: ttl,", "{name: ttl, behaviour: ReadOnly, required: true,"},
		"spec.attributes[name] is a sensitive Namevar":                            {"{name: name,", "{name: name, sensitive: true,"},
		"spec.attributes[ttl] is no Namevar: remove programName and programValue": {"{name: ttl,", "{name: ttl, programName: time,"},
		`spec.attributes[name].programName "ttl" is that of another attribute`:    {"{name: name,", "{name: name, programName: ttl,"},
		`spec.attributes[name].programName "ensure" is that of another attribute`: {"{name: name,", "{name: name, programName: ensure,"},
		`spec.attributes[name].programValue "x" does not have {name} once`:        {"{name: name,", "{name: name, programValue: x,"},
		`has {ttl}: use Namevars that have no programValue`:                       {"{name: name,", `{name: name, programValue: "{name}{ttl}",`},
		"spec.attributes[name].programValue is for text, but the type is integer": {"{name: name, description: Its name., behaviour: Namevar, schema: {type: string", `{name: name, programValue: "{name}.", description: Its name., behaviour: Namevar, schema: {type: integer`},
		"spec.relations[0].sendDesired is for the protocol Fettle: the commands of DSC resources get no other resources; remove it": {
			"  providers:", "  protocol: DSC\n  relations: [{relation: require, kind: Zone, name: $name, sendDesired: true}]\n  providers:",
		},
		`which is not one of spec.source.files`:                         {"./main.sh", "./other.sh"},
		`spec.source.files[main.sh] begins with "echo hello", so`:       {`"#!/bin/sh\n"`, `"echo hello\n"`},
		`spec.source.files[main.sh] begins with "#!/bin/sh\r", so`:      {`"#!/bin/sh\n"`, `"#!/bin/sh\r\necho\r\n"`},
		`spec.source.files[main.sh] begins with "\ufeff#!/bin/sh", so`:  {`"#!/bin/sh\n"`, `"\uFEFF#!/bin/sh\necho\n"`},
		`spec.source.files[main.sh] begins with "#!python3", so`:        {`"#!/bin/sh\n"`, `"#!python3\n"`},
		`which is not below the source`:                                 {"./main.sh", "../main.sh"},
		"spec.source requires exactly one of files, image and hostPath": {"source: {", "source: {hostPath: /opt/zone, "},
		`spec.source.files has the name "../main.sh"`:                   {"files: {main.sh:", "files: {../main.sh:"},
		`spec.source.files has the name "a/.git/x"`:                     {"files: {main.sh:", "files: {a/.git/x:"},
		"spec.selfRefresh requires Refresh in spec.requests":            {"version: ", "selfRefresh: true\n  version: "},
		"spec.ensure.values has absent, which is always possible":       {"version: ", "ensure: {values: [absent]}\n  version: "},
		`spec.ensure.default "c" is not one of`:                         {"version: ", "ensure: {values: [a, b], default: c}\n  version: "},
		`spec.relations[0].name "$ttl2" names no attribute`:             {"providers:", "relations: [{relation: require, kind: Zone, name: $ttl2}]\n  providers:"},
		"spec.source.files has 260 KiB, and the limit is 256":           {`"#!/bin/sh\n"`, `"` + strings.Repeat("x", 260<<10) + `"`},
		`spec.protocol "Later" is not known to this version of Fettle`:  {"version: ", "protocol: Later\n  version: "},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()

			_, err := definition.New(parse(t, strings.Replace(zone, edit[0], edit[1], 1)))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestImagesHaveARegistryAndADigest(t *testing.T) {
	t.Parallel()

	digest := "@sha256:" + strings.Repeat("0a", 32)
	for image, valid := range map[string]bool{
		"registry.example.com/types/dns" + digest: true, "localhost/dns" + digest: true, "localhost:5000/dns" + digest: true, "10.0.0.1:5000/a/b-c_d.e" + digest: true,
		"registry.example.com/types/dns:1.0" + digest: true, "registry.example.com/types/dns:1.0": false, "types/dns" + digest: false, "dns" + digest: false,
		"https://registry.example.com/dns" + digest: false, "registry.example.com/dns@sha256:abc": false, "registry.example.com/DNS" + digest: false,
		"registry.example.com/../dns" + digest: false, "registry.example.com/dns" + digest + "0": false, "registry.example.com" + digest: false,
	} {
		typ := parse(t, zone)
		typ.Spec.Source = v1alpha1.ExternalSource{Image: image}
		if _, err := definition.New(typ); (err == nil) != valid || err != nil && !strings.Contains(err.Error(), "fettle type push") {
			t.Errorf("%s: %v", image, err)
		}
	}
	if got := definition.ImageDigest("localhost/dns" + digest); got != "sha256-"+strings.Repeat("0a", 32) {
		t.Error(got)
	}
}

func TestTypesThatDifferOnlyInTheirProgramAcceptTheSameResources(t *testing.T) {
	t.Parallel()

	one, err := definition.New(parse(t, zone))
	if err != nil {
		t.Fatal(err)
	}
	for edit, same := range map[[2]string]bool{
		{"#!/bin/sh", "#!/bin/bash"}:                         true,
		{"version: ", "timeoutSeconds: 7\n  version: "}:      true,
		{"{name: ttl,", "{name: lifetime,"}:                  false,
		{"type: integer", "type: number"}:                    false,
		{"version: ", "namevarSeparator: '-'\n  version: "}:  false,
		{"version: ", "ensure: {values: [up]}\n  version: "}: false,
		{"{name: ttl,", "{name: ttl, default: '60',"}:        false,
	} {
		other, err := definition.New(parse(t, strings.Replace(zone, edit[0], edit[1], 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := one.AcceptsSame(other); got != same || other.Digest == one.Digest {
			t.Errorf("after %q became %q, it accepts the same: %t", edit[0], edit[1], got)
		}
	}
}

func TestSchemasBeyondTheLimitsAreRefusedBeforeTheyAreCompiled(t *testing.T) {
	t.Parallel()

	repeated := func(n int, text string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(text, "#", strconv.Itoa(i))
		}
		return strings.Join(all, ", ")
	}
	nested := func(n int) string {
		return strings.Repeat("{type: object, properties: {a: ", n) + "{type: string}" + strings.Repeat("}}", n)
	}
	for name, tt := range map[string]struct{ schema, want string }{
		"depth":             {nested(31), ""},
		"more depth":        {nested(32), "spec.attributes[ttl].schema has more than 64 objects and lists in each other: "},
		"alternatives":      {"{type: string, anyOf: [" + strings.Repeat("{anyOf: [", 4000) + "{}" + strings.Repeat("]}", 4000) + "]}", "spec.attributes[ttl].schema has more than 64 "},
		"values":            {"{type: string, enum: [" + repeated(9_900, "v#") + "]}", ""},
		"more values":       {"{type: string, enum: [" + repeated(10_000, "v#") + "]}", "spec.attributes[ttl].schema and the schemas before it have more than 10000 keys and values: "},
		"rules":             {"{type: string, x-kubernetes-validations: [" + repeated(128, `{rule: "true"}`) + "]}", ""},
		"more rules":        {"{type: string, x-kubernetes-validations: [" + repeated(129, `{rule: "true"}`) + "]}", "have more than 128 rules, with spec.rules: "},
		"text of rules":     {`{type: string, x-kubernetes-validations: [{rule: "` + strings.Repeat("x", 33<<10) + `"}]}`, "have rules of more than 32 KiB, with spec.rules: "},
		"a value like rule": {"{type: string, enum: [" + repeated(300, "rule, a#") + "]}", ""},
	} {
		_, err := definition.New(parse(t, strings.Replace(zone, "{type: integer}", tt.schema, 1)))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v\nwant %s", name, err, tt.want)
		}
	}
}

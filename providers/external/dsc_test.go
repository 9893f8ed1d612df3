package external_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/host/trace"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/external"
)

// thing is a DSC resource. OPTIONS stands for further fields of spec.dsc.
const thing = `
metadata: {name: things}
spec:
  kind: Thing
  protocol: DSC
  version: 1.0.0
  description: Manages a thing.
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
  - {name: owner, description: Its owner., caseInsensitive: true, schema: {type: string}}
  - {name: colour, description: Its colour., caseInsensitive: true, schema: {type: string, enum: [Red, red, Green]}}
  - {name: since, description: A time., schema: {type: string, format: date-time}}
  - {name: tags, description: Tags., schema: {type: array, items: {type: string}}}
  - {name: size, description: A size., schema: {type: integer}}
  - {name: limits, description: Limits., schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - {name: rules, description: Rules., caseInsensitive: true, schema: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: token, description: A key., sensitive: true, schema: {type: string}}
  - {name: validationMode, description: Who decides., behaviour: Parameter, schema: {type: string}}
  - {name: login, description: A credential., behaviour: Parameter, sensitive: true, schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  ensure: {values: [present], features: {absent: removable}}
  features: [{name: removable, description: Things can be removed.}]
  dsc:
    existence: _exist
    manifest:
      type: Example/Thing
      version: 1.0.0
      exitCodes: {"7": The moon is full}
      get: {executable: thing, args: [get], input: stdin}
      set: {executable: thing, args: [set], input: stdin, return: state}
      test: {executable: thing, args: [test], input: stdin, return: stateAndDiff}
      delete: {executable: thing, args: [delete], input: stdin}
      validate: {executable: thing, args: [validate], input: stdin}
    OPTIONS
  providers: [{name: dsc, features: [removable]}]
  source: {files: {manifest: x}}
`

// defaults are schemas of properties that decide their comparison.
const defaults = `schema: {type: object, properties: {size: {type: integer, default: 5}, limits: {type: object, properties: {soft: {default: 3}, key: {writeOnly: true}}}}}`

// A fake is a DSC resource whose commands print constants.
type fake struct {
	enginetest.Machine
	calls  []string // the arguments and the input of each
	output map[string]host.Result
}

func newFake(t *testing.T, options string, output map[string]host.Result) *fake {
	t.Helper()
	h := hosttest.New(t)
	f := &fake{output: output}
	h.Handle("thing", func(cmd host.Cmd) host.Result {
		f.calls = append(f.calls, cmd.Args[1]+" "+string(cmd.Stdin))
		return f.output[cmd.Args[1]]
	})
	kind := external.Kind(define(t, strings.Replace(thing, "OPTIONS", options, 1)), store.New(h, "/var/lib/fettle/programs"))
	if err := kind.Problems(); err != nil {
		t.Fatal(err)
	}
	f.Machine = enginetest.Machine{Host: h, Kinds: []resource.Kind{kind}, Noop: true}
	return f
}

func prints(output string) host.Result { return host.Result{Stdout: []byte(output)} }

func TestDSCPropertiesAreCompared(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		is, want, options string
		changes           string // the first line of the report after the name; "" for none
	}{
		"case is that of the system":                     {`{"owner":"ANN"}`, `{owner: ann}`, "", ""},
		"a value of the enum in another case":            {`{"colour":"red"}`, `{colour: Red}`, "", ""},
		"a case that the enum does not have":             {`{"colour":"GREEN"}`, `{colour: Green}`, "", ""},
		"a value in another case where case counts":      {`{"tags":["A"]}`, `{tags: [a]}`, "", `tags changed ["A"] to ["a"]`},
		"a property in another case":                     {`{"OWNER":"ann"}`, `{owner: ann}`, "", ""},
		"a property in another case where case counts":   {`{"TAGS":["a"]}`, `{tags: [a]}`, "", `tags defined as ["a"]`},
		"of an object only the desired keys count":       {`{"limits":{"soft":1,"hard":2}}`, `{limits: {soft: 1}}`, "", ""},
		"another value of an object":                     {`{"limits":{"soft":1,"hard":2}}`, `{limits: {soft: 2}}`, "", `limits changed {"hard":2,"soft":1} to {"soft":2}`},
		"a missing key":                                  {`{"limits":{"hard":2}}`, `{limits: {soft: 1}}`, "", `limits changed {"hard":2} to {"soft":1}`},
		"null is a missing key":                          {`{"limits":{"hard":2}}`, `{limits: {hard: 2, soft: null}}`, "", ""},
		"an object that desires nothing":                 {`{}`, `{limits: {}}`, "", ""},
		"a list in an object has no order":               {`{"limits":{"at":["b","a"]}}`, `{limits: {at: [a, b]}}`, "", ""},
		"a list in an object has no more elements":       {`{"limits":{"at":["b","a","c"]}}`, `{limits: {at: [a, b]}}`, "", `limits changed {"at":["b","a","c"]} to {"at":["a","b"]}`},
		"a deep list":                                    {`{"limits":{"at":[[{"a":1,"b":2}],[1]]}}`, `{limits: {at: [[1.0], [{a: 1}]]}}`, "", ""},
		"objects in a list in any order, with more keys": {`{"rules":[{"port":2,"x":1},{"port":1,"x":2}]}`, `{rules: [{port: 1}, {port: 2}]}`, "", ""},
		"objects that several desired ones describe":     {`{"rules":[{"port":1,"x":1},{"port":1}]}`, `{rules: [{port: 1}, {port: 1, x: 1}]}`, "", ""},
		"no object stands for two":                       {`{"rules":[{"port":1},{"port":2}]}`, `{rules: [{port: 1}, {port: 1}]}`, "", `rules changed [{"port":1},{"port":2}] to [{"port":1},{"port":1}]`},
		"objects in a list in another case":              {`{"rules":[{"NAME":"Web"}]}`, `{rules: [{name: web}]}`, "", ""},
		"an object that exists need not say it":          {`{"rules":[{"port":1}]}`, `{rules: [{port: 1, _exist: true}]}`, "", ""},
		"an object that does not exist":                  {`{"rules":[{"port":1,"_exist":false}]}`, `{rules: [{port: 1}]}`, "", `rules changed [{"_exist":false,"port":1}] to [{"port":1}]`},
		"what is missing is its default":                 {`{}`, `{size: 5}`, defaults, ""},
		"what is missing is not another value":           {`{}`, `{size: 6}`, defaults, "size defined as 6"},
		"a nested default":                               {`{"limits":{"at":1}}`, `{limits: {at: 1, soft: 3}}`, defaults, ""},
		"a nested default of a missing object":           {`{}`, `{limits: {soft: 3}}`, defaults, ""},
		"what is only written is not compared":           {`{"limits":{"at":1}}`, `{limits: {at: 1, key: x}}`, defaults, ""},
		"a value of another type":                        {`{"size":"3"}`, `{size: 3}`, "", "cannot read the present state: the program answered with the type string for size: it must be integer"},
		"a list that is none":                            {`{"tags":"a"}`, `{tags: [a]}`, "", "cannot read the present state: the program answered with the type string for tags: it must be array"},
		"an unmanaged value of another type":             {`{"size":"3"}`, `{owner: ann}`, "", "owner defined as ann"},
		"another name":                                   {`{"name":"b"}`, `{}`, "", `cannot read the present state: the program was asked for the name "a", and answered with "b": return it as it was asked for, or declare caseInsensitive or the request Canonicalize`},
		"a number that is another one as text":           {`{"size":3.0}`, `{size: 3}`, "", ""},
		"the same time in another zone":                  {`{"since":"2026-01-01T00:00:00Z"}`, `{since: "2026-01-01T01:00:00+01:00"}`, "", ""},
		"another time":                                   {`{"since":"2026-01-01T00:00:00Z"}`, `{since: "2026-01-01T01:00:00Z"}`, "", "since changed 2026-01-01T00:00:00Z to 2026-01-01T01:00:00Z"},
		"a time that is none":                            {`{"since":"yesterday"}`, `{}`, "", "cannot read the present state: the resource returned a value of since that is no time such as 2006-01-02T15:04:05Z"},
		"lists are sets that count":                      {`{"tags":["b","a","a"]}`, `{tags: [a, b, a]}`, "", ""},
		"null is unset":                                  {`{"tags":null}`, `{tags: []}`, "", "tags defined as []"},
		"null is empty in PowerShell":                    {`{"tags":null,"owner":[]}`, `{tags: [], owner: ""}`, "emptyIsUnset: true", ""},
		"text that is not empty in PowerShell":           {`{"owner":""}`, `{owner: ann}`, "emptyIsUnset: true", "owner defined as ann"},
		"existence as text":                              {`{"_exist":"false"}`, `{}`, "", "created (noop)"},
		"existence that is unclear":                      {`{"_exist":"perhaps"}`, `{}`, "", "cannot read the present state: _exist is neither true nor false"},
		"no document":                                    {``, `{}`, "", "cannot read the present state: get: the output is empty: it must be one JSON object"},
		"unknown properties and _inDesiredState":         {`{"x":1,"_inDesiredState":false,"_metadata":{}}`, `{}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := newFake(t, c.options, map[string]host.Result{"get": prints(c.is), "validate": prints(`{"valid":true}`)})
			checkFirst(t, c.changes, f.Apply(t, "Thing/a "+c.want))
		})
	}
}

// checkFirst checks the first line of a report about Thing/a.
func checkFirst(t *testing.T, want string, lines []string) {
	t.Helper()
	got := ""
	if len(lines) > 0 {
		got = strings.TrimPrefix(lines[0], "Thing/a: ")
	}
	plain := func(line string) string { line, _, _ = strings.Cut(line, " (noop)"); return line }
	if plain(got) != plain(want) {
		t.Errorf("the report is %q, want %q", lines, want)
	}
}

func TestDSCTestDecides(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		output host.Result
		want   []string
	}{
		"in the desired state, whatever the values": {prints("{\"owner\":\"bob\",\"_inDesiredState\":true}\n[\"owner\"]"), nil},
		"an empty diff":             {prints("{\"owner\":\"bob\"}\n[]"), nil},
		"a diff with a name":        {prints("{\"owner\":\"ann\",\"tags\":[\"a\"]}\n[\"tags\"]"), []string{`Thing/a: tags changed ["a"] to ["a"] (noop) (unknown: runs the program of the type)`}},
		"existence in the diff":     {prints("{\"_exist\":false}\n[\"_exist\"]"), []string{"Thing/a: created (noop) (unknown: runs the program of the type)"}},
		"no name but another value": {prints("{\"owner\":\"bob\",\"tags\":[\"a\"],\"_inDesiredState\":false}\n[]"), []string{"Thing/a: owner changed bob to ann (noop) (unknown: runs the program of the type)"}},
		"an unknown name":           {prints("{\"owner\":\"bob\",\"tags\":[\"a\"],\"_inDesiredState\":false}\n[\"x\"]"), []string{"Thing/a: owner changed bob to ann (noop) (unknown: runs the program of the type)"}},
		"neither a name nor another value": {prints("{\"owner\":\"ann\",\"tags\":[\"a\"],\"_inDesiredState\":false}\n[]"), []string{
			"Thing/a: owner changed ann to ann (noop)", `Thing/a: tags changed ["a"] to ["a"] (noop) (unknown: runs the program of the type)`,
		}},
		"a test that fails":     {host.Result{ExitCode: 7, Stderr: []byte(`{"error":"no light"}`)}, []string{"Thing/a: cannot read the present state: test: the command exited with 7 (The moon is full): no light"}},
		"a test without a diff": {prints("{}"), []string{"Thing/a: cannot read the present state: test: the output has no second line: stateAndDiff is a line with the state, and one with a list of property names"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := newFake(t, "compare: Test", map[string]host.Result{"test": c.output, "validate": prints(`{"valid":true}`)})
			var got []string
			for _, line := range f.Apply(t, `Thing/a {owner: ann, tags: [a]}`) {
				if !strings.Contains(line, "but not why") {
					got = append(got, line)
				}
			}
			equal(t, c.want, got)
		})
	}
}

func TestDSCResourceSaysWhoDecides(t *testing.T) {
	t.Parallel()

	output := map[string]host.Result{
		"get": prints(`{"owner":"bob"}`), "test": prints("{\"owner\":\"bob\",\"_inDesiredState\":true}\n[]"), "validate": prints(`{"valid":true}`),
	}
	mode := "validationMode: true"
	for want, c := range map[string]struct {
		options, attributes string
		changes             string
	}{
		"the type":                   {mode, `{owner: ann}`, "owner changed bob to ann"},
		"the properties":             {mode, `{owner: ann, validationMode: property}`, "owner changed bob to ann"},
		"its own test":               {mode, `{owner: ann, validationMode: resource}`, ""},
		"the type, which asks tests": {mode + "\n    compare: Test", `{owner: ann}`, ""},
		"the properties, though the type asks tests": {mode + "\n    compare: Test", `{owner: ann, validationMode: property}`, "owner changed bob to ann"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()

			f := newFake(t, c.options, output)
			checkFirst(t, c.changes, f.Apply(t, "Thing/a "+c.attributes))
			if strings.Contains(strings.Join(f.calls, "\n"), "validationMode") {
				t.Errorf("a command got it: %q", f.calls)
			}
		})
	}
}

func TestDSCInstancesWithoutAKeyAreObjects(t *testing.T) {
	t.Parallel()

	f := newFake(t, "named: true", map[string]host.Result{"get": prints(`{"owner":"bob"}`), "validate": prints(`{"valid":true}`), "set": prints(`{}`)})
	f.Noop = false
	equal(t, []string{"Thing/a: the change did not take effect: owner is bob, should be ann"}, f.Apply(t, `Thing/a {owner: ann}`)[:1])
	equal(t, []string{`get {"owner":"ann"}`, `validate {"_exist":true,"owner":"ann"}`, `set {"_exist":true,"owner":"ann"}`}, f.calls[:3])
}

func TestDSCCommandsGetOnlyWhatTheyNeed(t *testing.T) {
	t.Parallel()

	f := newFake(t, "", map[string]host.Result{"get": prints(`{"_exist":false}`), "validate": prints(`{"valid":true}`), "set": prints(`{}`)})
	f.Noop = false
	f.Apply(t, `Thing/a {owner: ann, login: {user: x}}`)
	equal(t, []string{
		`get {"login":{"user":"x"},"name":"a"}`,
		`validate {"_exist":true,"login":{"user":"x"},"name":"a","owner":"ann"}`,
		`set {"_exist":true,"login":{"user":"x"},"name":"a","owner":"ann"}`,
		`get {"login":{"user":"x"},"name":"a"}`,
	}, f.calls)

	f.calls, f.output["get"] = nil, prints(`{"name":"a"}`)
	f.Apply(t, `Thing/a {ensure: absent, owner: ann}`)
	equal(t, []string{`get {"name":"a"}`, `delete {"name":"a"}`, `get {"name":"a"}`}, f.calls)
}

func TestDSCSetThatPrintsNonsenseFails(t *testing.T) {
	t.Parallel()

	f := newFake(t, "", map[string]host.Result{"get": prints(`{"owner":"bob"}`), "validate": prints(`{"valid":true}`), "set": prints(`s3cret`)})
	f.Noop = false
	equal(t, []string{"Thing/a: change of owner from bob to ann failed: set: the output is not one JSON object: invalid JSON at byte 1"}, f.Apply(t, `Thing/a {owner: ann}`))
}

func TestDSCCredentialsComeFromSecrets(t *testing.T) {
	t.Parallel()

	f := newFake(t, "", nil)
	ref := resource.Ref{Kind: "Thing", Name: "a"}
	if _, err := f.Kinds[0].Bind(ref, nil, resource.Secret{Attribute: "login", Value: `{"user":"x","password":"y"}`}); err != nil {
		t.Error(err)
	}
	_, err := f.Kinds[0].Bind(ref, nil, resource.Secret{Attribute: "login", Value: `hunter2`})
	if err == nil || err.Error() != "login has the type string: it must be object" {
		t.Errorf("the error is %v", err)
	}
}

func TestDSCDesiredStateConformsToTheSchemaOfTheResource(t *testing.T) {
	t.Parallel()

	f := newFake(t, `schema: {type: object, dependentRequired: {since: [owner]}, properties: {owner: {not: {const: root}}}}`, nil)
	for attributes, want := range map[string]string{
		`{"owner":"ann"}`:                    "",
		`{"since":"2026-01-01T00:00:00Z"}`:   "the combination of properties violates dependentRequired/since of the schema",
		`{"owner":"root"}`:                   "owner violates a condition of the schema",
		`{"owner":"root","ensure":"absent"}`: "",
	} {
		_, err := f.Kinds[0].Bind(resource.Ref{Kind: "Thing", Name: "a"}, []byte(attributes))
		if got := errorText(err); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", attributes, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestDebugRecordHidesSecretsOfReplies(t *testing.T) {
	t.Parallel()

	const marker, current = "s3cret-marker", "current-marker" // the desired secret, and the one that was read
	for name, output := range map[string]host.Result{
		"a current secret":         {Stdout: []byte(`{"token":"` + current + `","owner":"has ` + current + `"}`), Stderr: []byte("the token is " + current + ", not " + marker)},
		"a secret in another case": {Stdout: []byte(`{"TOKEN":"` + current + `"}`)},
		"a nested secret":          {Stdout: []byte(`{"nested":[{"login":{"password":"` + current + `"}}]}`)},
		"a line that is cut":       {Stdout: []byte(`{"token":"` + current)},
		"a message in JSON":        {Stderr: []byte(`{"error":"desired ` + marker + `"}`), ExitCode: 1},
		"a name of a property":     {Stdout: []byte(`{"` + marker + `":1}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := newFake(t, "", map[string]host.Result{"get": output, "validate": prints(`{"valid":true}`), "set": output})
			f.Noop = false
			var log []string
			f.Host = trace.New(f.Host, time.Now, func(line string) { log = append(log, line) })
			f.Apply(t, `Thing/a {owner: ann, token: `+marker+`}`)
			all := strings.Join(log, "\n")
			if strings.Contains(all, marker) || strings.Contains(all, current) || !strings.Contains(all, "repeat with: cd /var/lib/fettle/programs/sha256-") || !strings.Contains(all, "output: ") {
				t.Error(all)
			}
		})
	}
}

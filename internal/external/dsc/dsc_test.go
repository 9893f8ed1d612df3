package dsc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/external/dsc"
)

// good is a manifest with most fields.
const good = `{
  "$schema": "https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json",
  "type": "Example.Group/Thing", "version": "1.2.0", "kind": "resource", "description": "Manages a thing.", "tags": ["a"], "metadata": {"x": 1},
  "deprecationMessage": "Use Other.", "exitCodes": {"0": "Success", "3": "The disk is full", "-1": "Killed"},
  "get": {"executable": "thing", "args": ["get", {"jsonInputArg": "--input", "mandatory": true}, {"resourceTypeArg": "--type"}, {"resourcePathArg": "--path", "includeQuotes": true}]},
  "set": {"executable": "thing", "args": ["set", {"whatIfArg": "--what-if"}], "input": "stdin", "return": "stateAndDiff", "handlesExist": true, "implementsPretest": true, "whatIfReturns": "state", "requireSecurityContext": "elevated"},
  "test": {"executable": "thing", "input": "env", "return": "state"},
  "delete": {"executable": "thing", "args": ["delete", {"jsonInputArg": "-i"}]},
  "export": {"executable": "thing"}, "validate": {"executable": "thing", "input": "stdin"},
  "whatIf": {"executable": "thing", "args": ["set", "--what-if"], "input": "stdin"},
  "schema": {"embedded": {"type": "object"}}
}`

func parse(t *testing.T, text string) *dsc.Manifest {
	t.Helper()
	m, err := dsc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFrozenManifestEqualsTheAuthorsManifest(t *testing.T) {
	t.Parallel()

	m := parse(t, good)
	m.Schema = nil
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	frozen, err := dsc.Frozen(raw)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, m, frozen)
	equal(t, "Manages a thing.\n\nDeprecated: Use Other.", m.Description)
}

func TestRefusedManifestsNameAnAlternative(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ old, replacement, want string }{
		"repeated field":          {`"tags": ["a"]`, `"version": "2"`, `duplicate field "version"`},
		"group":                   {`"kind": "resource"`, `"kind": "group"`, "create the resources of the group as objects of their own, with relations"},
		"importer":                {`"kind": "resource"`, `"kind": "importer"`, "convert the configuration into resources, and commit them to Git"},
		"exporter":                {`"kind": "resource"`, `"kind": "exporter"`, "list these with fettle resource"},
		"unknown kind":            {`"kind": "resource"`, `"kind": "thing"`, `kind "thing" is not known: use resource or adapter`},
		"resolve":                 {`"tags": ["a"]`, `"resolve": {"executable": "x"}`, "resolve is refused: convert the configuration into resources"},
		"condition":               {`"tags": ["a"]`, `"condition": "[equals(1,1)]"`, "use spec.when of the resources, or spec.providers[0].needs"},
		"requireAdapter":          {`"tags": ["a"]`, `"requireAdapter": "A/B"`, "name the file x.dsc.adaptedResource.json"},
		"restricted":              {`"elevated"`, `"restricted"`, "Have the command change its user, and remove the field"},
		"adapter without list":    {`"kind": "resource"`, `"kind": "adapter"`, "needs adapter.inputKind"},
		"adapter of another kind": {`"kind": "resource"`, `"kind": "adapter", "adapter": {"inputKind": "many"}`, `adapter.inputKind "many" is not known: use single, full or sequence`},
		"configuration in env":    {`"kind": "resource"`, `"kind": "adapter", "adapter": {"inputKind": "full"}`, "test.input env cannot have the configuration that adapter.inputKind full requires: use stdin"},
		"diff of a configuration": {`"kind": "resource"`, `"kind": "adapter", "adapter": {"config": "sequence"}`, "set.return stateAndDiff is refused with adapter.inputKind sequence"},
		"list without adapter":    {`"tags": ["a"]`, `"adapter": {"list": {"executable": "x"}, "inputKind": "single"}`, "adapter requires kind: adapter"},
		"no executable":           {`"executable": "thing", "input": "env"`, `"executable": "", "input": "env"`, "test.executable is missing"},
		"unknown input":           {`"input": "env"`, `"input": "arg"`, `test.input "arg" is not known: use stdin or env`},
		"unknown return":          {`"return": "state"`, `"return": "diff"`, `test.return "diff" is not known: use state or stateAndDiff`},
		"two inputs":              {`{"resourceTypeArg": "--type"}`, `{"jsonInputArg": "--again"}`, "more than one jsonInputArg"},
		"unknown argument":        {`{"resourceTypeArg": "--type"}`, `{"typeArg": "--type"}`, "exactly one of"},
		"two kinds of argument":   {`{"resourceTypeArg": "--type"}`, `{"resourceTypeArg": "--type", "whatIfArg": "-w"}`, "exactly one of"},
		"a number as an argument": {`"args": ["get", `, `"args": [1, `, "neither a text nor an object"},
		"exit code":               {`"3": "The`, `"three": "The`, `exitCodes has "three", which is not a number`},
		"no type":                 {`"type": "Example.Group/Thing"`, `"type": "Thing"`, `type "Thing" is not a name such as`},
		"no version":              {`"version": "1.2.0"`, `"version": ""`, "version is missing"},
		"two schemas":             {`{"embedded": {"type": "object"}}`, `{"embedded": {}, "command": {"executable": "x"}}`, "exactly one of embedded and command"},
		"NUL":                     {`"args": ["get", `, `"args": ["\u0000", `, "NUL byte"},
		"no JSON":                 {good, `not JSON`, "not a manifest of a DSC resource"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := dsc.Parse([]byte(strings.Replace(good, c.old, c.replacement, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestReadingNeedsGetOrATestThatReturnsTheState(t *testing.T) {
	t.Parallel()

	withoutGet := strings.Replace(good, `"get": {`, `"former": {`, 1)
	if _, err := dsc.Parse([]byte(withoutGet)); err != nil {
		t.Error(err)
	}
	_, err := dsc.Parse([]byte(strings.Replace(withoutGet, `"return": "state"}`, `"return": ""}`, 1)))
	if err == nil || !strings.Contains(err.Error(), "get is missing") {
		t.Errorf("the error is %v", err)
	}
}

func TestFieldsWithoutEffectAreIgnored(t *testing.T) {
	t.Parallel()

	want := parse(t, good)
	for old, more := range map[string]string{
		`"tags": ["a"]`:           `"tags": ["a"], "labels": 1, "manifestVersion": "1.0"`,
		`"export": {`:             `"export": {"supportsFiltering": true, "return": "state", "schema": {"embedded": {}}, `,
		`"implementsPretest"`:     `"preTest": {"x": [1]}, "implementsPretest"`,
		`"input": "env"`:          `"input": "env", "handlesExist": true, "whatIfReturns": "state"`,
		`"resourceTypeArg": "-`:   `"more": {}, "resourceTypeArg": "-`,
		`"executable": "thing", `: `"executable": "thing", "return": "stateAndDiff", `,
	} {
		text := strings.Replace(good, old, more, 1)
		if text == good {
			t.Errorf("%s is not in the manifest", old)
		}
		equal(t, want, parse(t, text))
	}
}

func TestConditionsBecomeNeeds(t *testing.T) {
	t.Parallel()

	for condition, want := range map[string][]string{
		"":               nil,
		"[true()]":       nil,
		"[not(false())]": nil,
		"[not(equals(tryWhich('pwsh'), null()))]": {"pwsh"},
		"[ and( not(equals(null(),tryWhich('b''s'))) , True(), NOT(Equals(TRYWHICH('a'),Null())), not(not(not(equals(tryWhich('a'), null())))) ) ]": {"a", "b's"},
	} {
		got, err := dsc.Needs(condition)
		if err != nil {
			t.Errorf("%s: %v", condition, err)
		}
		equal(t, want, got)
	}
	for condition, want := range map[string]string{
		"true":                                "it is not an expression in brackets",
		"[false()]":                           "it is never true",
		"[not(true())]":                       "it is never true",
		"[equals(tryWhich('x'), null())]":     "the use of equals is more than to require commands by tryWhich",
		"[or(true(), false())]":               "the use of or is more",
		"[equals(systemRoot(), '/')]":         "the use of equals is more",
		"[not(equals(tryWhich(''), null()))]": "the use of equals is more",
		"['x']":                               "it is a text",
		"['x]":                                "a text is not closed",
		"[not(true()]":                        "a call is not closed",
		"[true]":                              "it has more than calls and texts",
		"[true()] true()]":                    `"] true()" follows its end`,
		"[equals(1, 1)]":                      "it has more than calls and texts",
		"[" + strings.Repeat("not(", 1000) + "true()" + strings.Repeat(")", 1000) + "]": "it is nested too deeply",
	} {
		_, err := dsc.Needs(condition)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "spec.when") {
			t.Errorf("%s: %v, want %s", condition, err, want)
		}
	}
}

// adapterOf is the manifest of an adapter with an inputKind.
func adapterOf(t *testing.T, kind string) *dsc.Manifest {
	t.Helper()
	return parse(t, `{"type": "Example/Adapter", "version": "1", "kind": "adapter", "adapter": {"inputKind": "`+kind+`"}, "get": {"executable": "x", "input": "stdin"}}`)
}

func TestAdaptersGetConfigurations(t *testing.T) {
	t.Parallel()

	two := []dsc.Instance{{Name: "a", Type: "Example/Thing", Properties: dsc.State{"x": json.Number("1")}}, {Name: "b", Type: "Example/Thing"}}
	for kind, want := range map[string]string{
		"full":     `{"metadata":{"Microsoft.DSC":{"context":"configuration"}},"resources":[{"name":"a","properties":{"x":1},"type":"Example/Thing"},{"name":"b","type":"Example/Thing"}]}`,
		"sequence": `{"resources":[{"name":"a","properties":{"x":1},"type":"Example/Thing"},{"name":"b","type":"Example/Thing"}]}`,
	} {
		m := adapterOf(t, kind)
		call, err := m.Get.Call(dsc.Target{}, m.Configuration(two))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, want, string(call.Stdin))
		equal(t, true, m.TakesConfiguration())
	}
	equal(t, false, adapterOf(t, "single").TakesConfiguration())
}

func TestResultsOfAdaptersAreMatchedToResources(t *testing.T) {
	t.Parallel()

	m := adapterOf(t, "full")
	sent := []dsc.Instance{{Name: "a", Type: "Example/Thing"}, {Name: "b", Type: "Example/Thing"}}
	r, err := m.Results([]byte(`{"result": [{"name": "a", "type": "example/THING", "properties": {"x": 1}}, {"properties": {}}], "_inDesiredState": false}`), sent)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, dsc.Results{States: []dsc.State{{"x": json.Number("1")}, {}}, InDesiredState: new(false)}, r)
	for output, want := range map[string]string{
		``:                                 "the output is empty",
		`{"a": 1}`:                         "the output has no result",
		`{"result": 1}`:                    "the output has no result",
		`{"result": [{"properties": {}}]}`: "the output has 1 results for 2 resources",
		`{"result": [{"name": "b", "properties": {}}, {"name": "a", "properties": {}}]}`: `result 1: it is that of "b", but "a" was asked for`,
		`{"result": [{"type": "Example/Other", "properties": {}}, {"properties": {}}]}`:  `it has the type "Example/Other"`,
		`{"result": [{"name": "a"}, {"name": "b"}]}`:                                     "it has no properties",
		`{"result": [1, 2]}`: "it has no properties",
		`{"result": [{"properties": {}}, {"properties": {}}], "_inDesiredState": 1}`: "_inDesiredState is neither true nor false",
	} {
		if _, err := m.Results([]byte(output), sent); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", output, err, want)
		}
	}
}

func TestExportsOfAdaptersBecomeStates(t *testing.T) {
	t.Parallel()

	rows := `{"result": [{"x": 1}, {"name": "b", "type": "Example/Thing", "properties": {"x": 2}}]}` + "\n" + `{"result": []}`
	got, err := adapterOf(t, "sequence").Exported([]byte(rows))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []dsc.State{{"x": json.Number("1")}, {"x": json.Number("2")}}, got)
	for _, output := range []string{`{"x": 1}`, `{"result": [1]}`, `1`} {
		if _, err := adapterOf(t, "full").Exported([]byte(output)); err == nil {
			t.Errorf("%s is accepted", output)
		}
	}
}

func TestArgumentsAndInput(t *testing.T) {
	t.Parallel()

	m := parse(t, good)
	target := dsc.Target{Type: "Example.Group/Thing", Path: "/opt/thing.dsc.resource.json"}
	input := dsc.State{"name": "<a>", "n": json.Number("1"), "list": []any{"x", json.Number("2"), true}, "none": nil}
	text := `{"list":["x",2,true],"n":1,"name":"<a>","none":null}`
	for name, c := range map[string]struct {
		op    *dsc.Operation
		input dsc.State
		want  dsc.Call
	}{
		"JSON, type and path in arguments": {m.Get, input, dsc.Call{Args: []string{"get", "--input", text, "--type", "Example.Group/Thing", "--path", `"/opt/thing.dsc.resource.json"`}}},
		"mandatory input that is missing":  {m.Get, nil, dsc.Call{Args: []string{"get", "--input", "", "--type", "Example.Group/Thing", "--path", `"/opt/thing.dsc.resource.json"`}}},
		"optional input that is missing":   {m.Delete, nil, dsc.Call{Args: []string{"delete"}}},
		"stdin, and never a what-if":       {m.Set, input, dsc.Call{Args: []string{"set"}, Stdin: []byte(text)}},
		"a flat environment":               {m.Test, input, dsc.Call{Env: []string{"list=x,2,true", "n=1", "name=<a>"}}},
		"no input":                         {m.Export, input, dsc.Call{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := c.op.Call(target, c.input)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, c.want, got)
		})
	}
}

func TestInputThatDoesNotFitIsAnError(t *testing.T) {
	t.Parallel()

	m := parse(t, good)
	for want, c := range map[string]struct {
		op    *dsc.Operation
		input dsc.State
	}{
		"a cannot be passed in the environment: it is an object": {m.Test, dsc.State{"a": map[string]any{}}},
		"it has lists of lists":                                  {m.Test, dsc.State{"a": []any{[]any{"x"}}}},
		"it has a NUL byte":                                      {m.Test, dsc.State{"a": "\x00"}},
		"have the manifest pass them on stdin":                   {m.Get, dsc.State{"a": strings.Repeat("x", 128<<10)}},
		"the properties have 128 KiB, but argumen":               {m.Test, dsc.State{"a": strings.Repeat("x", 128<<10)}},
	} {
		if _, err := c.op.Call(dsc.Target{}, c.input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

func TestOutputIsRead(t *testing.T) {
	t.Parallel()

	m := parse(t, good)
	state := func(output string) dsc.Outcome {
		got, err := m.Set.Outcome([]byte(output))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	equal(t, dsc.Outcome{State: dsc.State{"n": json.Number("9007199254740993")}, Diff: []string{"n"}}, state("\ufeff{\"n\":9007199254740993}\r\n[\"n\"]\r\n"))
	equal(t, dsc.Outcome{State: dsc.State{}, Diff: []string{}}, state("{}\n[]"))
	equal(t, dsc.Outcome{State: dsc.State{}, Diff: []string{}}, state("{}\nnull"))
	none, err := (&dsc.Operation{}).Outcome([]byte("whatever"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, dsc.Outcome{}, none)
	rows, err := dsc.Documents([]byte("{\"a\":1}\n\n{\"a\":2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []dsc.State{{"a": json.Number("1")}, {"a": json.Number("2")}}, rows)
}

func TestInvalidOutputIsAnErrorThatQuotesNothing(t *testing.T) {
	t.Parallel()

	m := parse(t, good)
	outcome := func(op *dsc.Operation) func([]byte) error {
		return func(b []byte) error { _, err := op.Outcome(b); return err }
	}
	document := func(b []byte) error { _, err := dsc.Document(b); return err }
	rows := func(b []byte) error { _, err := dsc.Documents(b); return err }
	validity := func(b []byte) error { _, err := dsc.Validity(b); return err }
	for _, c := range []struct {
		output, want string
		read         func([]byte) error
	}{
		{"", "the output is empty: it must be one JSON object", document},
		{"s3cret", "the output is not one JSON object: invalid JSON at byte 1", document},
		{`["s3cret"]`, "the output is not one JSON object", document},
		{`{"a":1}{"s3cret":1}`, "more than one JSON object", document},
		{`null`, "an instance that does not exist has _exist: false", document},
		{"{}\ns3cret", "line 2: the output is not one JSON object", rows},
		{"{}", "the output has no second line", outcome(m.Set)},
		{"s3cret\n[]", "line 1: the output is not one JSON object", outcome(m.Set)},
		{"{}\n{\"s3cret\":1}", "line 2: the output is not a list of property names", outcome(m.Set)},
		{"{}\n[]", "more than one JSON object", outcome(m.Test)},
		{`{"reason":"s3cret"}`, "does not have valid", validity},
		{`"s3cret"`, `the output is not {"valid": true or false`, validity},
	} {
		err := c.read([]byte(c.output))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: the error is %v, want %s", c.output, err, c.want)
		}
	}
}

func TestCanonicalProperties(t *testing.T) {
	t.Parallel()

	yes, no := new(true), new(false)
	for text, want := range map[string]dsc.Canonical{
		`{}`:                              {Exist: true},
		`{"_exist":null}`:                 {Exist: true},
		`{"_exist":false}`:                {},
		`{"_exist":"false"}`:              {}, // as the apt resource of DSC prints it
		`{"_exist":"True"}`:               {Exist: true},
		`{"_inDesiredState":true}`:        {Exist: true, InDesiredState: yes},
		`{"_inDesiredState":false}`:       {Exist: true, InDesiredState: no},
		`{"_metadata":{"_refreshEnv":1}}`: {Exist: true},
		`{"_restartRequired":[]}`:         {Exist: true},
		`{"_restartRequired":[{"system":"a"},{"service":"s"},{"process":{"name":"p","id":7}},{"process":{"name":"q"}}]}`: {Exist: true, Restart: []string{"the system", "the service s", "the process p (7)", "the process q"}},
	} {
		s, err := dsc.Document([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Canonical()
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		equal(t, want, got)
	}
	for text, want := range map[string]string{
		`{"_exist":"no"}`:              "_exist is neither true nor false",
		`{"_exist":1}`:                 "_exist is neither true nor false",
		`{"_inDesiredState":[]}`:       "_inDesiredState is neither true nor false",
		`{"_restartRequired":"now"}`:   "_restartRequired is not a list",
		`{"_restartRequired":["now"]}`: "_restartRequired is not a list",
	} {
		s, err := dsc.Document([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Canonical(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestMessagesOnStderr(t *testing.T) {
	t.Parallel()

	got := dsc.Messages([]byte(`{"error":"no such thing"}
{"warn": "careful"}
{"info":"i"}
{"debug":"d"}
{"trace":"t"}
{"timestamp":"2026-01-01T00:00:00Z","level":"ERROR","fields":{"message":"from Rust","code":1},"target":"thing"}
{"timestamp":"2026-01-01T00:00:00Z","level":"INFO","fields":{"message":"fine"},"target":"thing"}
{"level":"WARN","message":"flat"}

{"other":"json"}
Traceback: plain text
{"error":1}
`))
	equal(t, []dsc.Message{
		{Level: "error", Text: "no such thing"},
		{Level: "warn", Text: "careful"},
		{Level: "info", Text: "i"},
		{Level: "debug", Text: "d"},
		{Level: "trace", Text: "t"},
		{Level: "error", Text: "from Rust"},
		{Level: "info", Text: "fine"},
		{Level: "warn", Text: "flat"},
		{Level: "error", Text: `{"other":"json"}`},
		{Level: "error", Text: "Traceback: plain text"},
		{Level: "error", Text: `{"error":1}`},
	}, got)
}

func TestFailureHasTheTextOfTheExitCodeAndTheErrors(t *testing.T) {
	t.Parallel()

	m := parse(t, good)
	for want, c := range map[string]struct {
		exit   int
		stderr string
	}{
		"the command exited with 3 (The disk is full): no room": {3, `{"info":"x"}` + "\n" + `{"error":"no room"}`},
		"the command exited with 3 (The disk is full)":          {3, `{"debug":"x"}`},
		"the command exited with 4: plain":                      {4, "plain\n"},
		"the command exited with 4: only a warning":             {4, `{"warn":"only a warning"}`},
		"the command exited with 4: b; c; d":                    {4, "a\nb\nc\nd\n"},
		"the command exited with 4":                             {4, ""},
		"the command exited with -1 (Killed)":                   {-1, ""},
	} {
		equal(t, want, m.Failure(c.exit, []byte(c.stderr)))
	}
}

func TestCommandsThatExposeInputAreNamed(t *testing.T) {
	t.Parallel()

	m := parse(t, good)
	equal(t, "test", m.Exposes(false))
	equal(t, "get", m.Exposes(true))
	safe := parse(t, strings.NewReplacer(`"input": "env"`, `"input": "stdin"`, `{"jsonInputArg": "--input", "mandatory": true}`, `"x"`, `{"jsonInputArg": "-i"}`, `"x"`).Replace(good))
	equal(t, "", safe.Exposes(false))
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := dsc.Parse(text)
		if err != nil {
			return
		}
		m.Schema = nil
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := dsc.Frozen(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		equal(t, m, again)
	})
}

func FuzzOutput(f *testing.F) {
	for _, seed := range []string{"{}\n[]", `{"_exist":"false","_restartRequired":[{"system":"a"}]}`, `{"valid":true}`, `{"error":"x"}`, "\ufeff{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		if s, err := dsc.Document(output); err == nil {
			_, _ = s.Canonical()
			for _, in := range []string{dsc.InputEnv, dsc.InputStdin} {
				_, _ = (&dsc.Operation{Input: in}).Call(dsc.Target{}, s)
			}
		}
		_, _ = dsc.Documents(output)
		_, _ = dsc.Validity(output)
		_, _ = (&dsc.Operation{Return: dsc.ReturnStateAndDiff}).Outcome(output)
		for _, m := range dsc.Messages(output) {
			if strings.TrimSpace(m.Text) == "" && m.Level == dsc.LevelError && !strings.Contains(string(output), "error") {
				t.Errorf("an empty error from %q", output)
			}
		}
	})
}

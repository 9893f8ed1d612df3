package external_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/external"
)

// entry is a type with an attribute of each behaviour.
const entry = `
metadata: {name: entries}
spec:
  kind: Entry
  version: 1.0.0
  description: Manages an entry of a registry.
  namevarSeparator: ":"
  attributes:
  - {name: zone, description: Its zone., behaviour: Namevar, schema: {type: string}}
  - {name: id, description: Its number., behaviour: Namevar, schema: {type: integer}}
  - {name: ttl, description: Seconds., schema: {type: integer}}
  - {name: comment, description: Words., schema: {type: string}}
  - {name: values, description: Values., schema: {type: array, items: {type: string}}}
  - {name: order, description: A list in order., match: Ordered, schema: {type: array, items: {type: string}}}
  - {name: members, description: At least., match: Minimum, schema: {type: array, items: {type: string}}}
  - {name: choice, description: One of them., match: First, schema: {type: array, items: {type: string}}}
  - {name: owner, description: Its owner., caseInsensitive: true, schema: {type: string}}
  - {name: shape, description: Its shape., behaviour: InitOnly, schema: {type: string}}
  - {name: token, description: A key., behaviour: Parameter, sensitive: true, schema: {type: string}}
  - {name: weight, description: Needs weights., feature: weights, schema: {type: number}}
  - {name: created, description: When., behaviour: ReadOnly, schema: {type: string}}
  requests: [List, Canonicalize, Validate]
  features: [{name: weights, description: Entries have weights.}]
  providers:
  - {name: plain, command: [./entry]}
  source: {files: {entry: "#!/bin/false"}}
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

type fixture struct {
	enginetest.Machine
	host     *hosttest.Host
	registry *registry
	kind     resource.Kind
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOf(t, entry)
}

// newFixtureOf is newFixture with another type that has the program entry.
func newFixtureOf(t *testing.T, entry string) *fixture {
	t.Helper()
	h := hosttest.New(t)
	w := &fixture{host: h, registry: &registry{t: t, has: map[string]wire.State{}}}
	h.Handle("entry", w.registry.run)
	w.kind = external.Kind(define(t, entry), store.New(h, "/var/lib/fettle/programs"))
	w.Machine = enginetest.Machine{Host: h, Kinds: []resource.Kind{w.kind}}
	return w
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTypeIsSound(t *testing.T) {
	t.Parallel()

	if err := newFixture(t).kind.Problems(); err != nil {
		t.Error(err)
	}
}

func TestOneProcessReadsAndAnotherChangesAllResources(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	a, b := `Entry/a {zone: z, id: 1, ttl: 60}`, `Entry/b {zone: z, id: 2, comment: Hello}`
	equal(t, []string{
		"Entry/a: output: stored z:1", "Entry/a: created", "Entry/b: output: stored z:2", "Entry/b: created",
	}, w.Apply(t, a, b))
	equal(t, []string{"canonicalize 2, get 2", "validate 2", "set 2", "canonicalize 2, get 2"}, w.registry.calls)

	w.registry.calls = nil
	equal(t, []string(nil), w.Apply(t, a, b))
	equal(t, []string{"canonicalize 2, get 2"}, w.registry.calls)

	w.registry.calls = nil
	w.Apply(t, `Entry/a {zone: z, id: 1, ttl: 61}`, `Entry/b {zone: z, id: 2, comment: bye}`)
	equal(t, []string{"canonicalize 2, get 2", "validate 2", "set 2", "canonicalize 2, get 2"}, w.registry.calls)

	equal(t, []string{"Entry/a: removed"}, w.Apply(t, `Entry/a {zone: z, id: 1, ensure: absent}`))
	equal(t, 1, len(w.registry.has))
}

func TestProgramOfARemoteTypeCannotChangeTheHost(t *testing.T) {
	t.Parallel()

	w := newFixtureOf(t, strings.Replace(entry, "spec:", "spec:\n  scope: Remote", 1))
	equal(t, []string{"Entry/a: output: stored z:1", "Entry/a: created"}, w.Apply(t, `Entry/a {zone: z, id: 1, ttl: 60}`))
	var processes []string
	for _, line := range w.host.Transcript() {
		if mark, confinement, ok := strings.Cut(line, "/entry"); ok && strings.Contains(confinement, "(") {
			processes = append(processes, mark[:1]+confinement)
		}
	}
	equal(t, []string{"? (read-only)", "? (read-only)", "? (read-only, network)", "? (read-only)"}, processes)
}

func TestAttributesAreCompared(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		is, want string
		changes  string // the first change; "" for none
	}{
		"equal numbers":              {`{"ttl": 60.0}`, `{"ttl": 60}`, ""},
		"another number":             {`{"ttl": 61}`, `{"ttl": 60}`, "ttl changed 61 to 60"},
		"large numbers":              {`{"ttl": 9007199254740993}`, `{"ttl": 9007199254740992}`, "ttl changed 9007199254740993 to 9007199254740992"},
		"canonical text":             {`{"comment": "hello"}`, `{"comment": "Hello"}`, ""},
		"text in another case":       {`{"comment": "Hello"}`, `{"comment": "Hello"}`, "comment changed Hello to hello"},
		"case is ignored":            {`{"owner": "Ann"}`, `{"owner": "ANN"}`, ""},
		"a set in another order":     {`{"values": ["b", "a"]}`, `{"values": ["a", "b"]}`, ""},
		"a set with another count":   {`{"values": ["a", "a", "b"]}`, `{"values": ["a", "b", "b"]}`, `values changed ["a","a","b"] to ["a","b","b"]`},
		"an ordered list":            {`{"order": ["b", "a"]}`, `{"order": ["a", "b"]}`, `order changed ["b","a"] to ["a","b"]`},
		"further members":            {`{"members": ["a", "b"]}`, `{"members": ["b"]}`, ""},
		"a missing member":           {`{"members": ["a"]}`, `{"members": ["b"]}`, `members changed ["a"] to ["b"]`},
		"one of the choices":         {`{"choice": ["b"]}`, `{"choice": ["a", "b"]}`, ""},
		"none of the choices":        {`{"choice": ["c"]}`, `{"choice": ["a", "b"]}`, `choice changed ["c"] to ["a","b"]`},
		"an attribute that is unset": {`{}`, `{"ttl": 60}`, "ttl defined as 60"},
		"an unmanaged attribute":     {`{"ttl": 60}`, `{"comment": ""}`, "comment defined as "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newFixture(t)
			var is wire.State
			if err := json.Unmarshal([]byte(c.is), &is); err != nil {
				t.Fatal(err)
			}
			w.registry.get = func(wire.Resource) wire.Answer { return rawAnswer(c.is) }
			got := w.noop(t, "Entry/a "+strings.Replace(c.want, "{", "{zone: z, id: 1, ", 1))
			var want []string
			if c.changes != "" {
				want = []string{"Entry/a: " + c.changes + " (noop) (unknown: runs the program of the type)"}
			}
			equal(t, want, got)
		})
	}
}

// rawAnswer keeps the digits of numbers.
func rawAnswer(state string) wire.Answer {
	d := json.NewDecoder(strings.NewReader(state))
	d.UseNumber()
	var s wire.State
	if err := d.Decode(&s); err != nil {
		panic(err)
	}
	return wire.Answer{State: s}
}

func (w *fixture) noop(t *testing.T, resources ...string) []string {
	t.Helper()
	m := w.Machine
	m.Noop = true
	return m.Apply(t, resources...)
}

func TestNoopOnlyReads(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.noop(t, `Entry/a {zone: z, id: 1, ttl: 60}`)
	for _, line := range w.host.Transcript() {
		if strings.Contains(line, "entry") && strings.HasPrefix(line, "! /") {
			t.Errorf("noop started %q", line)
		}
	}
	equal(t, []string{"Entry/a: cannot be applied: the service refuses this comment"},
		w.noop(t, `Entry/a {zone: z, id: 1, comment: refused}`))
}

func TestProgramDecidesWhatIsInSync(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.registry.get = func(wire.Resource) wire.Answer {
		return wire.Answer{State: wire.State{"ttl": 59}, InSync: map[string]wire.Verdict{"ttl": {InSync: true}, "comment": {Message: "it is rude"}}}
	}
	equal(t, []string{"Entry/a: comment defined as x (noop) (unknown: runs the program of the type)"}, without(w.noop(t, `Entry/a {zone: z, id: 1, ttl: 60, comment: x}`), "rude"))
}

func without(all []string, word string) []string {
	var out []string
	for _, line := range all {
		if !strings.Contains(line, word) {
			out = append(out, line)
		}
	}
	return out
}

func TestWhatADyingProcessDidNotAnswerFailed(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.registry.died = 2 // hello, and one answer
	w.registry.get = func(r wire.Resource) wire.Answer { return wire.Answer{State: wire.State{"ttl": 1}} }
	lines := strings.Join(w.Apply(t, `Entry/a {zone: z, id: 1, ttl: 1}`, `Entry/b {zone: z, id: 2, ttl: 1}`), "\n")
	if !strings.Contains(lines, "exited with 137: out of luck") {
		t.Errorf("the report does not say how the program ended:\n%s", lines)
	}
}

func TestInvalidAnswersFail(t *testing.T) {
	t.Parallel()

	for want, answer := range map[string]wire.Answer{
		`the attribute "colour", which the type does not have`:      {State: wire.State{"colour": "red"}},
		`the value "maybe" of ensure, which the type does not have`: {State: wire.State{"ensure": "maybe"}},
		"there is no such zone":                                     {Error: "there is no such zone"},
		"the type string for ttl: it must be integer":               {State: wire.State{"ttl": "1"}},
		`the attribute "ttls" in inSync`:                            {State: wire.State{"ttl": "1"}, InSync: map[string]wire.Verdict{"ttls": {InSync: true}}},
		"the program wrote more than 200000 values":                 {State: wire.State{"tags": slices.Repeat([]any{true}, 300_000)}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()

			w := newFixture(t)
			w.registry.get = func(wire.Resource) wire.Answer { return answer }
			lines := strings.Join(w.Apply(t, `Entry/a {zone: z, id: 1, ttl: 1}`), "\n")
			if !strings.HasPrefix(lines, "Entry/a: cannot read the present state: ") || !strings.Contains(lines, want) {
				t.Errorf("the report is\n%s", lines)
			}
		})
	}
}

func TestOneRefusedResourceFailsAlone(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.registry.set = func(r wire.Resource) wire.Answer {
		if r.Name == "z:1" {
			return wire.Answer{Error: "bad record"}
		}
		w.registry.has[r.Name] = r.Should
		return wire.Answer{}
	}
	equal(t, []string{
		"Entry/a: change of ensure from absent to present failed: bad record", "Entry/b: created",
	}, w.Apply(t, `Entry/a {zone: z, id: 1}`, `Entry/b {zone: z, id: 2}`))
}

func TestSecretsOfAttributesAreNeverShown(t *testing.T) {
	t.Parallel()

	const secret = "hunter2-marker"
	w := newFixture(t)
	var stdin string
	w.host.Handle("entry", func(cmd host.Cmd) host.Result {
		stdin += string(cmd.Stdin)
		for _, arg := range append(cmd.Args, cmd.Env...) {
			if strings.Contains(arg, secret) {
				t.Errorf("the secret is in %q", arg)
			}
		}
		return w.registry.run(cmd)
	})
	w.registry.set = func(r wire.Resource) wire.Answer {
		return wire.Answer{Error: "wrong key " + secret, Notes: []string{"tried " + secret}}
	}
	lines := strings.Join(w.Apply(t, `Entry/a {zone: z, id: 1, token: `+secret+`}`), "\n")
	if strings.Contains(lines, secret) || !strings.Contains(lines, "wrong key [redacted]") {
		t.Errorf("the report is\n%s", lines)
	}
	if !strings.Contains(stdin, secret) {
		t.Error("the program did not get the secret")
	}
	for _, request := range []string{"get", "set"} {
		if !regexp.MustCompile(`"request":"` + request + `".*"sensitive":\["token"\]`).MatchString(stdin) {
			t.Errorf("%s does not name the sensitive attribute: %s", request, stdin)
		}
	}
}

func TestProgramExplainsADifferenceInSeveralLines(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.registry.get = func(wire.Resource) wire.Answer {
		return wire.Answer{State: wire.State{"ttl": 60}, InSync: map[string]wire.Verdict{"ttl": {Message: "-59\n+60\x1b token-marker"}}}
	}
	r := w.Report(t, `Entry/a {zone: z, id: 1, ttl: 60, token: token-marker}`)
	equal(t, "-59\n+60\\x1b [redacted]", r.Resources[0].Events[0].Diff)
}

func TestValuesAreChecked(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	for attributes, want := range map[string]string{
		`{"zone":"z"}`:                      "id is missing: Entry requires it",
		`{"zone":"z","id":"1"}`:             "id has the type string: it must be integer",
		`{"zone":"z","id":1,"color":"red"}`: `Entry has no attribute "color": use one of ensure, zone, id,`,
		`{"zone":"z","id":1,"created":"x"}`: "created cannot be set, it is only read: remove it",
		`{"zone":"z","id":1,"ensure":"on"}`: `ensure "on" is not known: use present or absent`,
	} {
		_, err := w.kind.Bind(resource.Ref{Kind: "Entry", Name: "a"}, json.RawMessage(attributes))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", attributes, err, want)
		}
	}
}

func TestARequiredValueMayComeFromASecret(t *testing.T) {
	t.Parallel()

	kind := external.Kind(define(t, strings.Replace(entry, "name: token,", "name: token, required: true,", 1)), nil)
	ref, values := resource.Ref{Kind: "Entry", Name: "a"}, map[string]any{"zone": "z", "id": json.Number("1")}
	for name, test := range map[string]struct {
		from    []string
		secrets []resource.Secret
		want    string
	}{
		"it follows":          {[]string{"token"}, nil, ""},
		"it is there":         {[]string{"token"}, []resource.Secret{{Attribute: "token", Value: "x"}}, ""},
		"there is none":       {nil, nil, "token is missing: Entry requires it"},
		"another one follows": {[]string{"comment"}, nil, "token is missing: Entry requires it"},
	} {
		_, err := kind.BindTyped(ref, v1alpha1.ExternalValues{Values: values, FromSecrets: test.from}, test.secrets...)
		if (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := kind.Bind(ref, json.RawMessage(`{"zone":"z","id":1}`)); err == nil {
		t.Error("a node accepts that the value is missing")
	}
}

func TestFeaturesAndInitOnlyAttributesAreRefusedWithAReason(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	lines := strings.Join(w.Apply(t, `Entry/a {zone: z, id: 1, weight: 1.5}`), "\n")
	if !strings.Contains(lines, "provider plain lacks the feature weights, which weight needs") {
		t.Errorf("the report is\n%s", lines)
	}
	w.registry.get = func(wire.Resource) wire.Answer { return wire.Answer{State: wire.State{"shape": "round"}} }
	lines = strings.Join(w.Apply(t, `Entry/a {zone: z, id: 1, shape: square}`), "\n")
	if !strings.Contains(lines, "shape can only be set when the Entry is created") {
		t.Errorf("the report is\n%s", lines)
	}
}

func TestExistingResourcesAreListed(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.Apply(t, `Entry/a {zone: z, id: 1, ttl: 60}`)
	all, err := w.kind.Instances(t.Context(), nil, resource.Call{}.Reader(w.host), "")
	if err != nil || len(all) != 1 || all[0].Namevar != "z:1" {
		t.Errorf("the instances are %+v, %v", all, err)
	}
}

func TestANameIsSplitIntoNamevars(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.Apply(t, `Entry/a {zone: z, id: 1, ttl: 60}`)
	r, err := w.kind.Named("z:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Choose(nil, w.host, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Read(t.Context(), resource.Call{}.Reader(w.host)); err != nil {
		t.Fatal(err)
	}
	equal(t, `{"ensure":"present","id":1,"ttl":60,"zone":"z"}`, string(r.State().Attributes))
}

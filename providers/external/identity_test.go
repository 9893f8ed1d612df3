package external_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/external"
	"github.com/fettle-dev/fettle/providers/purge"
)

// acct is a type whose program writes names in lower case and without surrounding spaces.
const acct = `
metadata: {name: accts}
spec:
  kind: Acct
  version: 1.0.0
  description: Manages an account.
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
  - {name: shell, description: Its shell., schema: {type: string}}
  requests: [List, Canonicalize]
  providers:
  - {name: plain, command: [./acct]}
  source: {files: {acct: "#!/bin/false"}}
`

// ignoring is a type whose names ignore case, which its program keeps.
func ignoring() string {
	return strings.NewReplacer("behaviour: Namevar", "behaviour: Namevar, caseInsensitive: true", "[List, Canonicalize]", "[List]").Replace(acct)
}

// pair is a type with two Namevars.
const pair = `
metadata: {name: accts}
spec:
  kind: Acct
  version: 1.0.0
  description: Manages a pair.
  attributes:
  - {name: left, description: One., behaviour: Namevar, schema: {type: string}}
  - {name: right, description: Another., behaviour: Namevar, schema: {type: string}}
  - {name: shell, description: Its shell., schema: {type: string}}
  requests: [List]
  providers:
  - {name: plain, command: [./acct]}
  source: {files: {acct: "#!/bin/false"}}
`

// An objectStore is a program whose objects have a key of their own, whatever names requests have.
type objectStore struct {
	registry
	key       func(wire.State) string     // of an object
	canonical func(wire.State) wire.State // nil: as it is written
	crash     string                      // a process with this request dies; "" for none
	removed   []string
}

func newObjects(t *testing.T, w *fixture, key func(wire.State) string) *objectStore {
	t.Helper()
	s := &objectStore{registry: registry{t: t, has: map[string]wire.State{}}, key: key}
	s.get = func(r wire.Resource) wire.Answer { return wire.Answer{State: s.has[s.key(r.Should)]} }
	s.set = func(r wire.Resource) wire.Answer {
		if r.Should["ensure"] == "absent" {
			delete(s.has, s.key(r.Should))
			s.removed = append(s.removed, s.key(r.Should))
			return wire.Answer{}
		}
		next := wire.State{}
		maps.Copy(next, s.has[s.key(r.Should)])
		maps.Copy(next, r.Should)
		s.has[s.key(r.Should)] = s.written(next)
		return wire.Answer{}
	}
	w.host.Handle("acct", func(cmd host.Cmd) host.Result {
		if s.crash != "" && strings.Contains(string(cmd.Stdin), `"request":"`+s.crash+`"`) {
			return host.Result{ExitCode: 1, Stdout: lines([]wire.Answer{{Answer: wire.Hello, Protocol: wire.Protocol}}), Stderr: []byte("out of memory")}
		}
		return s.run(cmd)
	})
	s.canonicalize = func(r wire.Resource) wire.Answer { return wire.Answer{State: s.written(maps.Clone(r.Should))} }
	return s
}

func (s *objectStore) written(state wire.State) wire.State {
	if s.canonical == nil {
		return state
	}
	return s.canonical(state)
}

func lowered(state wire.State) wire.State {
	state["name"] = strings.ToLower(strings.TrimSpace(fmt.Sprint(state["name"])))
	return state
}

// A spelling is a case of names: of the resources of a catalog, and of other objects of the host.
type spelling struct {
	typ       string
	key       func(wire.State) string
	canonical func(wire.State) wire.State
	managed   []string // attributes
	strays    []wire.State
}

func lowerKey(s wire.State) string { return strings.ToLower(strings.TrimSpace(fmt.Sprint(s["name"]))) }

// pairKey is unambiguous, as in a service that has real tuples.
func pairKey(s wire.State) string { return fmt.Sprintf("%q+%q", s["left"], s["right"]) }

func spellings() map[string]spelling {
	all := map[string]spelling{
		"a number": {
			strings.Replace(pair, "description: Another., behaviour: Namevar, schema: {type: string}", "description: Another., behaviour: Namevar, schema: {type: integer}", 1),
			pairKey, nil,
			[]string{`left: a, right: 1`, `left: a/1, right: 0`, `left: a/1/0, right: 0`},
			[]wire.State{{"left": "a", "right": json.Number("2")}},
		},
	}
	for _, name := range []string{"ANN", " ann ", "Ann", "\u00c4NN", "x/Y", "a\\B"} {
		all["canonicalized "+name] = spelling{acct, lowerKey, lowered, []string{fmt.Sprintf("name: %q", name)}, []wire.State{{"name": "bob"}}}
	}
	for _, name := range []string{"WEB", "web", "Web", "\u00c4-\u03a3", "\u017ft"} {
		all["another case "+name] = spelling{ignoring(), func(s wire.State) string { return strings.ToLower(strings.ToUpper(fmt.Sprint(s["name"]))) }, func(s wire.State) wire.State {
			s["name"] = strings.ToUpper(fmt.Sprint(s["name"]))
			return s
		}, []string{fmt.Sprintf("name: %q", name)}, []wire.State{{"name": "Stray"}}}
	}
	for _, separator := range []string{"/", "::", `\`, `\%^`, "→", "a"} {
		typ := strings.Replace(pair, "  attributes:", fmt.Sprintf("  namevarSeparator: %q\n  attributes:", separator), 1)
		all["composite "+separator] = spelling{typ, pairKey, nil, pairs(separator), []wire.State{{"left": "stray", "right": separator}, {"left": separator + separator, "right": separator}}}
	}
	return all
}

// pairs returns pairs that are written alike once they are joined by a separator.
func pairs(separator string) []string {
	var all []string
	for _, p := range [][2]string{{"a" + separator + "b", "c"}, {"a", "b" + separator + "c"}, {"a", separator + "b"}, {"a" + separator, "b"}, {`a\`, "b"}, {`a\` + separator, `\b`}, {"", "x"}, {"x", ""}} {
		all = append(all, fmt.Sprintf("left: %q, right: %q", p[0], p[1]))
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

func TestAPurgeSparesWhatTheCatalogManagesUnderAnotherSpelling(t *testing.T) {
	t.Parallel()

	for name, c := range spellings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newFixtureOf(t, c.typ)
			w.Kinds = append(w.Kinds, bound.Kind(purge.Type()))
			s := newObjects(t, w, c.key)
			s.canonical = c.canonical
			var strays []string
			for _, stray := range c.strays {
				s.has[c.key(stray)] = s.written(stray)
				strays = append(strays, c.key(stray))
			}
			catalog := []string{"Purge/all {kind: Acct, confirm: Acct}"}
			for i, attributes := range c.managed {
				catalog = append(catalog, fmt.Sprintf("Acct/r%d {%s, shell: /bin/sh}", i, attributes))
			}
			first := w.Report(t, catalog...)
			if first.Counts.Failed > 0 || first.Counts.Changed != len(c.managed)+len(c.strays) {
				t.Errorf("the first run: %+v", first.Resources)
			}
			equal(t, slices.Sorted(slices.Values(strays)), slices.Sorted(slices.Values(s.removed)))
			equal(t, len(c.managed), len(s.has))
			equal(t, []string(nil), w.Apply(t, catalog...))
			equal(t, len(c.managed), len(s.has))
		})
	}
}

func TestTwoSpellingsOfOneThingFailBeforeAnyChange(t *testing.T) {
	t.Parallel()

	for name, inSync := range map[string]bool{"that does not exist": false, "that is in sync": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newFixtureOf(t, acct)
			w.Kinds = append(w.Kinds, bound.Kind(purge.Type()))
			s := newObjects(t, w, lowerKey)
			s.canonical = lowered
			if inSync {
				s.has["ann"] = wire.State{"name": "ann", "shell": "/bin/sh"}
			}
			s.has["stray"] = wire.State{"name": "stray"}
			const fix = ", canonically \"ann\": keep one of the two resources, or let their nodeSelector or when exclude each other"
			equal(t, []string{
				`Acct/a: "ANN" is on this host the same as "ann" of Acct/b` + fix,
				`Acct/b: "ann" is on this host the same as "ANN" of Acct/a` + fix,
				"Acct/c: created", "Acct/stray: removed",
			}, w.Apply(t, `Acct/a {name: ANN, shell: /bin/sh}`, `Acct/b {name: ann, shell: /bin/sh}`, `Acct/c {name: C}`, "Purge/all {kind: Acct, confirm: Acct}"))
			want := []string{"c"}
			if inSync {
				want = []string{"ann", "c"}
			}
			equal(t, want, slices.Sorted(maps.Keys(s.has)))
		})
	}
}

func TestNothingIsPurgedWhileTheProgramCannotCanonicalize(t *testing.T) {
	t.Parallel()

	w := newFixtureOf(t, acct)
	w.Kinds = append(w.Kinds, bound.Kind(purge.Type()))
	s := newObjects(t, w, lowerKey)
	s.canonical = lowered
	s.has["ann"], s.has["stray"] = wire.State{"name": "ann"}, wire.State{"name": "stray"}
	s.crash = wire.Canonicalize
	equal(t, []string{
		"Purge/all: skipped: the canonical name of Acct/a on this host is unknown, and it may manage what would be removed: " +
			"cannot read the present state: the program exited with 1: out of memory",
		"Acct/a: cannot read the present state: the program exited with 1: out of memory",
	}, w.Apply(t, "Purge/all {kind: Acct, confirm: Acct}", `Acct/a {name: ANN}`))
	equal(t, 2, len(s.has))

	s.crash = ""
	s.canonicalize = func(r wire.Resource) wire.Answer {
		if r.Should["name"] == "BAD" {
			return wire.Answer{Error: "no such name"}
		}
		return wire.Answer{State: lowered(maps.Clone(r.Should))}
	}
	report := w.Report(t, "Purge/all {kind: Acct, confirm: Acct}", `Acct/a {name: ANN}`, `Acct/bad {name: BAD}`)
	equal(t, 1, report.Counts.Failed)
	equal(t, 1, report.Counts.Skipped)
	equal(t, 2, len(s.has))
	equal(t, []string{"Acct/stray: removed"}, w.Apply(t, "Purge/all {kind: Acct, confirm: Acct}", `Acct/a {name: ANN}`))
}

// The types don't say that their programs know the names in other spellings. The programs do, by what they answer.
func TestNothingIsPurgedIfTheProgramAnswersWithAnotherName(t *testing.T) {
	t.Parallel()

	w := newFixtureOf(t, strings.Replace(acct, "[List, Canonicalize]", "[List]", 1))
	w.Kinds = append(w.Kinds, bound.Kind(purge.Type()))
	s := newObjects(t, w, lowerKey)
	s.has["ann"], s.has["stray"] = wire.State{"name": "ann"}, wire.State{"name": "stray"}
	refused := func(kind, asked string) []string {
		read := fmt.Sprintf("cannot read the present state: the program was asked for the name %q, and answered with %q: return it as it was asked for, or declare caseInsensitive or the request Canonicalize", asked, strings.ToLower(asked))
		return []string{
			"Purge/all: skipped: the canonical name of " + kind + "/a on this host is unknown, and it may manage what would be removed: " + read,
			kind + "/a: " + read,
		}
	}
	equal(t, refused("Acct", "ANN"), w.Apply(t, "Purge/all {kind: Acct, confirm: Acct}", `Acct/a {name: ANN}`))
	equal(t, []string(nil), s.removed)
	equal(t, []string{"Acct/stray: removed"}, w.Apply(t, "Purge/all {kind: Acct, confirm: Acct}", `Acct/a {name: ann}`))

	typ := strings.NewReplacer("      validate:", "      export: {executable: thing, args: [export]}\n      validate:", "OPTIONS", "", "  dsc:", "  requests: [List]\n  dsc:").Replace(thing)
	h := hosttest.New(t)
	d := dscObjects{t, map[string]map[string]any{"web": {"name": "web", "colour": "Red"}}}
	h.Handle("thing", d.run)
	w = &fixture{host: h}
	w.Machine = enginetest.Machine{Host: h}
	w.Kinds = []resource.Kind{external.Kind(define(t, typ), store.New(h, "/var/lib/fettle/programs")), bound.Kind(purge.Type())}
	equal(t, refused("Thing", "WEB"), w.Apply(t, "Purge/all {kind: Thing, confirm: Thing}", "Thing/a {name: WEB, colour: Red}"))
	equal(t, 1, len(d.has))
}

func TestAResourceIsShownUnderAnotherSpelling(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	w := &fixture{host: h}
	s := newObjects(t, w, lowerKey)
	s.canonical = lowered
	s.has["ann"] = wire.State{"name": "ann", "shell": "/bin/sh"}
	kind := external.Kind(define(t, acct), store.New(h, "/var/lib/fettle/programs"))
	r, err := kind.Named("ANN")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Choose(nil, h, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Read(t.Context(), resource.Call{}.Reader(h)); err != nil {
		t.Fatal(err)
	}
	equal(t, resource.Instance{
		Namevar: "ann", CanonicalName: "ann", Provider: "plain", Exists: true, Attributes: json.RawMessage(`{"ensure":"present","name":"ann","shell":"/bin/sh"}`),
	}, r.State())
}

// A store of a DSC resource that keeps the case of names, and finds them regardless of it.
type dscObjects struct {
	t   *testing.T
	has map[string]map[string]any
}

func (s dscObjects) run(cmd host.Cmd) host.Result {
	var want map[string]any
	if len(cmd.Stdin) > 0 {
		if err := json.Unmarshal(cmd.Stdin, &want); err != nil {
			s.t.Errorf("the input is not JSON: %v", err)
		}
	}
	key := strings.ToLower(fmt.Sprint(want["name"]))
	var out []map[string]any
	switch cmd.Args[1] {
	case "get":
		if out = append(out, s.has[key]); s.has[key] == nil {
			out[0] = map[string]any{"_exist": false, "name": want["name"]}
		}
	case "set":
		s.has[key] = want
		out = append(out, want)
	case "delete":
		delete(s.has, key)
	case "validate":
		out = append(out, map[string]any{"valid": true})
	case "export":
		for _, name := range slices.Sorted(maps.Keys(s.has)) {
			out = append(out, s.has[name])
		}
	}
	var text strings.Builder
	for _, object := range out {
		line, err := json.Marshal(object)
		if err != nil {
			s.t.Error(err)
		}
		text.Write(append(line, '\n'))
	}
	return prints(text.String())
}

func TestAPurgeOfDSCObjectsIgnoresCaseWhereTheTypeDoes(t *testing.T) {
	t.Parallel()

	typ := strings.NewReplacer(
		"behaviour: Namevar", "behaviour: Namevar, caseInsensitive: true", "      validate:", "      export: {executable: thing, args: [export]}\n      validate:", "OPTIONS", "", "  dsc:", "  requests: [List]\n  dsc:",
	).Replace(thing)
	h := hosttest.New(t)
	s := dscObjects{t, map[string]map[string]any{"web": {"name": "web", "colour": "Red"}, "stray": {"name": "Stray"}}}
	h.Handle("thing", s.run)
	w := &fixture{host: h}
	w.Machine = enginetest.Machine{Host: h}
	w.Kinds = []resource.Kind{external.Kind(define(t, typ), store.New(h, "/var/lib/fettle/programs")), bound.Kind(purge.Type())}
	catalog := []string{"Purge/all {kind: Thing, confirm: Thing}", "Thing/a {name: WEB, colour: Red}", "Thing/b {name: Db, colour: Green}"}
	equal(t, []string{"Thing/Stray: removed", "Thing/b: created"}, w.Apply(t, catalog...))
	equal(t, []string(nil), w.Apply(t, catalog...))
	equal(t, []string{"db", "web"}, slices.Sorted(maps.Keys(s.has)))

	const fix = ", canonically \"web\": keep one of the two resources, or let their nodeSelector or when exclude each other"
	equal(t, []string{
		`Thing/a: "WEB" is on this host the same as "Web" of Thing/c` + fix, `Thing/c: "Web" is on this host the same as "WEB" of Thing/a` + fix,
	}, w.Apply(t, "Thing/a {name: WEB, colour: Red}", "Thing/c {name: Web, colour: Green}"))
	equal(t, any("Red"), s.has["web"]["colour"])
}

func TestRelationsFindOtherSpellings(t *testing.T) {
	t.Parallel()

	for name, typ := range map[string]string{"that differ in case": ignoring(), "that only the program knows": acct} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newFixtureOf(t, typ)
			s := newObjects(t, w, lowerKey)
			s.canonical = lowered
			member := strings.NewReplacer("accts", "members", "kind: Acct", "kind: Member\n  relations: [{relation: require, kind: Acct, name: $shell}]").Replace(typ)
			w.Kinds = append(w.Kinds, external.Kind(define(t, member), store.New(w.host, "/var/lib/fettle/programs")))
			lines := w.Apply(t, "Member/m {name: m, shell: ann}", "Acct/a {name: ANN}")
			equal(t, []string{"Acct/a: created", "Member/m: created"}, lines)
		})
	}
}

func TestAPurgeSparesWhatADerivedTypeManages(t *testing.T) {
	t.Parallel()

	derived := strings.NewReplacer("accts", "others", "  kind: Acct\n", "  kind: Other\n  programKind: Acct\n", "description: One., behaviour: Namevar, schema: {type: string}", "description: One., behaviour: Namevar, schema: {type: string, enum: [left]}").Replace(pair)
	w := newFixtureOf(t, pair)
	s := newObjects(t, w, pairKey)
	w.Kinds = append(w.Kinds, external.Kind(define(t, derived), store.New(w.host, "/var/lib/fettle/programs")), bound.Kind(purge.Type()))
	s.has[`"left"+"stray"`] = wire.State{"left": "left", "right": "stray"}
	s.has[`"base"+"stray"`] = wire.State{"left": "base", "right": "stray"}
	catalog := []string{"Acct/a {left: base, right: a/b}", "Other/b {left: left, right: b}"}
	equal(t, []string{"Acct/a: created", "Other/b: created", "Other/left/stray: removed"}, w.Apply(t, append(catalog, "Purge/all {kind: Other, confirm: Other}")...))
	equal(t, []string{"Acct/base/stray: removed"}, w.Apply(t, append(catalog, "Purge/all {kind: Acct, confirm: Acct}")...))
	equal(t, []string(nil), w.Apply(t, append(catalog, "Purge/all {kind: Acct, confirm: Acct}")...))
	equal(t, 2, len(s.has))

	w.Withheld = []resource.Withheld{{Ref: resource.Ref{Kind: "Other", Name: "c"}}}
	s.has[`"left"+"c"`] = wire.State{"left": "left", "right": "c"}
	w.Apply(t, append(catalog, "Purge/all {kind: Acct, confirm: Acct}")...)
	equal(t, 3, len(s.has))
}

// hosts is a type with the program of another one, whose first Namevar it computes from two of its own.
const hosts = `
metadata: {name: hosts}
spec:
  kind: Host
  programKind: Acct
  version: 1.0.0
  description: Manages a host.
  attributes:
  - {name: label, programName: left, programValue: "{label}.{right}.", description: One., behaviour: Namevar, schema: {type: string, pattern: "^[a-z]+$"}}
  - {name: right, description: Another., behaviour: Namevar, schema: {type: string}}
  - {name: shell, description: Its shell., schema: {type: string}}
  requests: [List]
  providers:
  - {name: plain, command: [./acct]}
  source: {files: {acct: "#!/bin/false"}}
`

func TestADerivedTypeRenamesAndComputesNamevars(t *testing.T) {
	t.Parallel()

	w := newFixtureOf(t, pair)
	s := newObjects(t, w, pairKey)
	w.Kinds = append(w.Kinds, external.Kind(define(t, hosts), store.New(w.host, "/var/lib/fettle/programs")), bound.Kind(purge.Type()))
	for _, key := range [][2]string{{"old.org.", "org"}, {"other", "org"}, {"Old.net.", "net"}} {
		s.has[fmt.Sprintf("%q+%q", key[0], key[1])] = wire.State{"left": key[0], "right": key[1]}
	}
	catalog := []string{"Host/a {label: www, right: org, shell: /bin/sh}", "Acct/b {left: left, right: b}"}
	equal(t, []string{"Acct/b: created", "Host/a: created"}, slices.Sorted(slices.Values(w.Apply(t, catalog...))))
	equal(t, wire.State{"ensure": "present", "left": "www.org.", "right": "org", "shell": "/bin/sh"}, s.has[`"www.org."+"org"`])
	equal(t, []string(nil), w.Apply(t, catalog...))

	s.has[`"www.org."+"org"`]["shell"] = "/bin/false"
	equal(t, []string{"Host/a: shell changed /bin/false to /bin/sh"}, w.Apply(t, catalog...))

	// It removes what it could have made; the purge of the base spares what it manages.
	equal(t, []string{"Host/old/org: removed"}, w.Apply(t, append(catalog, "Purge/all {kind: Host, confirm: Host}")...))
	equal(t, []string{"Acct/Old.net./net: removed", "Acct/other/org: removed"}, slices.Sorted(slices.Values(w.Apply(t, append(catalog, "Purge/all {kind: Acct, confirm: Acct}")...))))
	equal(t, []string{`"left"+"b"`, `"www.org."+"org"`}, slices.Sorted(maps.Keys(s.has)))

	// An answer about what no resource of the kind can be is an error.
	s.get = func(wire.Resource) wire.Answer {
		return wire.Answer{State: wire.State{"left": "www.net.", "right": "org"}}
	}
	equal(t, []string{`Host/a: cannot read the present state: the program answered with the left "www.net.", which no Host has`}, w.Apply(t, catalog[0]))
}

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

var (
	errBroken = errors.New("broken")
	errBug    = errors.New("bug") // what panics has one
)

// A run is one scenario: the current and the desired state, the writes and the report.
type scenario struct {
	given func(m *machine)
	items [][]string // ref, attributes, edges
	with  []func(*engine.Transaction)
	did   []string
	want  []string
}

// play runs a scenario and returns the resulting machine.
func (s scenario) play(t *testing.T) *machine {
	t.Helper()
	m := newMachine()
	if s.given != nil {
		s.given(m)
	}
	var items []resource.Item
	for _, i := range s.items {
		items = append(items, m.item(t, i[0], i[1], i[2:]...))
	}
	result := transact(t, items, s.with...)
	if diff := cmp.Diff(s.want, lines(result)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.did, m.log); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	return m
}

const red = `{"ensure":"present","color":"red"}`

func TestRun(t *testing.T) {
	there := func(names ...string) func(*machine) {
		return func(m *machine) {
			for _, n := range names {
				m.things[n] = thing{Name: n, Ensure: new("present"), Color: new("red")}
			}
		}
	}
	for name, s := range map[string]scenario{
		"a resource in sync is not written": {
			given: there("a"), items: [][]string{{"Thing/a", red}},
			want: []string{"Thing/a InSync"},
		},
		"ready resources run in catalog order": {
			items: [][]string{{"Thing/c", red, "require:Thing/a"}, {"Thing/b", red}, {"Thing/a", red}},
			did:   []string{"write b (ensure)", "write a (ensure)", "write c (ensure)"},
			want:  []string{"Thing/b Changed", "  created", "Thing/a Changed", "  created", "Thing/c Changed", "  created"},
		},
		"ensure out of sync silences the other properties": {
			items: [][]string{{"Thing/a", `{"ensure":"present","color":"blue"}`}},
			did:   []string{"write a (ensure)"},
			want:  []string{"Thing/a Changed", "  created"},
		},
		"without ensure an absent thing is not managed": {
			items: [][]string{{"Thing/a", `{"color":"blue"}`}},
			want:  []string{"Thing/a InSync"},
		},
		"a failed resource sends no events and its dependents are skipped, on and on": {
			given: func(m *machine) {
				there("a", "s", "z")(m)
				m.fail["size a"] = errBroken
				m.fail["color a"] = errBroken
			},
			items: [][]string{
				{"Thing/a", `{"color":"blue"}`, "notify:Thing/s"},
				{"Thing/s", red},
				{"Thing/t", red, "require:Thing/s"},
				{"Thing/z", red},
			},
			did: []string{"write a (color)"},
			want: []string{
				"Thing/a Failed", "  change of color from red to blue failed: broken",
				"Thing/s Skipped", "  skipped because of failed dependencies: Thing/a",
				"Thing/t Skipped", "  skipped because of failed dependencies: Thing/s",
				"Thing/z InSync",
			},
		},
		"a failure names its reason after no more than the beginning of long values": {
			given: func(m *machine) {
				there("a")(m)
				m.fail["color a"] = errBroken
			},
			items: [][]string{{"Thing/a", `{"color":"` + strings.Repeat("blue", 20) + `"}`}},
			did:   []string{"write a (color)"},
			want:  []string{"Thing/a Failed", "  change of color from red to blueblueblueblueblueblueblueblueblueb... failed: broken"},
		},
		"refreshes coalesce into one": {
			given: there("s"),
			items: [][]string{{"Thing/a", red, "notify:Thing/s"}, {"Thing/b", red}, {"Thing/s", red, "subscribe:Thing/b"}},
			did:   []string{"write a (ensure)", "write b (ensure)", "refresh s"},
			want:  []string{"Thing/a Changed", "  created", "Thing/b Changed", "  created", "Thing/s Refreshed", "  refreshed by 2 events"},
		},
		"ordering alone does not refresh": {
			given: there("s"),
			items: [][]string{{"Thing/a", red, "before:Thing/s"}, {"Thing/b", red}, {"Thing/s", red, "require:Thing/b"}},
			did:   []string{"write a (ensure)", "write b (ensure)"},
			want:  []string{"Thing/a Changed", "  created", "Thing/b Changed", "  created", "Thing/s InSync"},
		},
		"a refresh propagates to subscribers": {
			given: there("s", "t"),
			items: [][]string{{"Thing/a", red, "notify:Thing/s"}, {"Thing/s", red, "notify:Thing/t"}, {"Thing/t", red}},
			did:   []string{"write a (ensure)", "refresh s", "refresh t"},
			want:  []string{"Thing/a Changed", "  created", "Thing/s Refreshed", "  refreshed by 1 event", "Thing/t Refreshed", "  refreshed by 1 event"},
		},
		"a service that was just started is not restarted": {
			items: [][]string{{"Thing/a", red, "notify:Thing/s"}, {"Thing/s", `{"ensure":"running"}`}},
			did:   []string{"write a (ensure)", "write s (ensure)"},
			want:  []string{"Thing/a Changed", "  created", "Thing/s Changed", "  created"},
		},
		"a stopped service is not restarted": {
			given: func(m *machine) { there("s")(m); m.idle["s"] = true },
			items: [][]string{{"Thing/a", red, "notify:Thing/s"}, {"Thing/s", red}},
			did:   []string{"write a (ensure)"},
			want:  []string{"Thing/a Changed", "  created", "Thing/s InSync"},
		},
		"a failed refresh fails the resource and skips its dependents": {
			given: func(m *machine) { there("s")(m); m.fail["refresh s"] = errBroken },
			items: [][]string{{"Thing/a", red, "notify:Thing/s"}, {"Thing/s", red, "before:Thing/t"}, {"Thing/t", red}},
			did:   []string{"write a (ensure)", "refresh s"},
			want: []string{
				"Thing/a Changed", "  created",
				"Thing/s Failed", "  cannot refresh: broken",
				"Thing/t Skipped", "  skipped because of failed dependencies: Thing/s",
			},
		},
		"noop reads, reports and does nothing, refreshes included": {
			given: there("s"), with: []func(*engine.Transaction){noop},
			items: [][]string{{"Thing/a", red, "notify:Thing/s"}, {"Thing/s", red}},
			want:  []string{"Thing/a Noop", "  created (noop)", "Thing/s Noop", "  would have been refreshed by 1 event (noop) (unknown: runs its refresh)"},
		},
		"a cycle fails its members, nothing of them is applied, and the rest goes on": {
			items: [][]string{
				{"Thing/a", red, "require:Thing/b"},
				{"Thing/b", red, "require:Thing/c"},
				{"Thing/c", red, "require:Thing/a"},
				{"Thing/d", red, "require:Thing/a"},
				{"Thing/e", red},
			},
			did: []string{"write e (ensure)"},
			want: []string{
				"Thing/a Failed", "  is part of a dependency cycle: Thing/a => Thing/c => Thing/b => Thing/a",
				"Thing/b Failed", "  is part of a dependency cycle: Thing/a => Thing/c => Thing/b => Thing/a",
				"Thing/c Failed", "  is part of a dependency cycle: Thing/a => Thing/c => Thing/b => Thing/a",
				"Thing/d Skipped", "  skipped because of failed dependencies: Thing/a",
				"Thing/e Changed", "  created",
			},
		},
		"an automatic relation orders existing resources": {
			items: [][]string{{"Thing/a", `{"ensure":"present","near":["b","ghost"]}`}, {"Thing/b", red}},
			did:   []string{"write b (ensure)", "write a (ensure)"},
			want:  []string{"Thing/b Changed", "  created", "Thing/a Changed", "  created"},
		},
		"an automatic relation is to any kind": {
			items: [][]string{{"Thing/a", `{"ensure":"present","near":["b"]}`}, {"Crate/b", red}},
			did:   []string{"write together b", "write a (ensure)"},
			want:  []string{"Crate/b Changed", "  created", "Thing/a Changed", "  created"},
		},
		"an automatic relation gives way to a written edge": {
			items: [][]string{{"Thing/a", `{"ensure":"present","near":["b"]}`, "before:Thing/b"}, {"Thing/b", red}},
			did:   []string{"write a (ensure)", "write b (ensure)"},
			want:  []string{"Thing/a Changed", "  created", "Thing/b Changed", "  created"},
		},
		"an automatic relation that gives way takes no other with it": {
			items: [][]string{
				{"Thing/a", `{"ensure":"present","near":["b"]}`, "before:Thing/b"},
				{"Thing/b", `{"ensure":"present","near":["c"]}`},
				{"Thing/c", `{"ensure":"present","near":["a"]}`},
			},
			did:  []string{"write a (ensure)", "write c (ensure)", "write b (ensure)"},
			want: []string{"Thing/a Changed", "  created", "Thing/c Changed", "  created", "Thing/b Changed", "  created"},
		},
		"each of several cycles fails its own members": {
			items: [][]string{
				{"Thing/a", red, "require:Thing/b"},
				{"Thing/b", red, "require:Thing/a"},
				{"Thing/c", red, "require:Thing/d"},
				{"Thing/d", red, "require:Thing/c"},
			},
			want: []string{
				"Thing/a Failed", "  is part of a dependency cycle: Thing/a => Thing/b => Thing/a",
				"Thing/b Failed", "  is part of a dependency cycle: Thing/a => Thing/b => Thing/a",
				"Thing/c Failed", "  is part of a dependency cycle: Thing/c => Thing/d => Thing/c",
				"Thing/d Failed", "  is part of a dependency cycle: Thing/c => Thing/d => Thing/c",
			},
		},
		"an automatic relation never closes a cycle": {
			items: [][]string{
				{"Thing/a", `{"ensure":"present","near":["c"]}`}, {"Thing/b", red, "require:Thing/a"}, {"Thing/c", red, "require:Thing/b"},
			},
			did:  []string{"write a (ensure)", "write b (ensure)", "write c (ensure)"},
			want: []string{"Thing/a Changed", "  created", "Thing/b Changed", "  created", "Thing/c Changed", "  created"},
		},
		"automatic relations that want each other first both give way": {
			given: func(m *machine) { m.fail["write a"] = errBroken },
			items: [][]string{{"Thing/a", `{"ensure":"present","near":["b"]}`}, {"Thing/b", `{"ensure":"present","near":["a"]}`}},
			did:   []string{"write a (ensure)", "write b (ensure)"},
			want:  []string{"Thing/a Failed", "  change of ensure from absent to present failed: broken", "Thing/b Changed", "  created"},
		},
		"an edge that leads to nothing fails the resource alone": {
			items: [][]string{{"Thing/a", red, "require:Thing/ghost"}, {"Thing/b", red}},
			did:   []string{"write b (ensure)"},
			want: []string{
				"Thing/a Failed", "  require names Thing/ghost, which is not in the catalog: add it or remove the reference",
				"Thing/b Changed", "  created",
			},
		},
		"attributes that the type refuses fail the resource alone": {
			items: [][]string{{"Thing/a", `{"colour":"red"}`}, {"Thing/b", red}},
			did:   []string{"write b (ensure)"},
			want: []string{
				"Thing/a Failed", `  cannot read attributes of Thing/a: json: unknown field "colour"; Thing has: name, ensure, color, size, secret, near`,
				"Thing/b Changed", "  created",
			},
		},
		"an attribute that the provider can't manage is an error that names both": {
			items: [][]string{{"Thing/a", `{"ensure":"present","size":3}`}},
			want: []string{
				"Thing/a Failed", "  provider hand lacks the feature sizable, which size needs; leave the attribute out or choose another provider",
			},
		},
		"a state that can't be read fails the resource": {
			given: func(m *machine) { m.fail["read a"] = errBroken },
			items: [][]string{{"Thing/a", red}},
			want:  []string{"Thing/a Failed", "  cannot read the present state: broken"},
		},
		"a write that took no effect fails the resource": {
			given: func(m *machine) { m.forgets["a"] = true },
			items: [][]string{{"Thing/a", red}},
			did:   []string{"write a (ensure)"},
			want:  []string{"Thing/a Failed", "  the change did not take effect: ensure is absent, should be present"},
		},
		"a failed property does not fail the others": {
			given: func(m *machine) { there("a")(m); m.fail["color a"] = errBroken },
			items: [][]string{{"Thing/a", `{"color":"blue","secret":"hush"}`}},
			did:   []string{"write a (color secret)"},
			want: []string{
				"Thing/a Failed", "  change of color from red to blue failed: broken", "  changed secret",
			},
		},
		"resources that are ready together are written together, and the failing one is identified": {
			given: func(m *machine) { m.fail["write b"] = errBroken },
			items: [][]string{{"Crate/a", red}, {"Thing/x", red}, {"Crate/b", red}, {"Crate/c", red, "require:Thing/x"}, {"Crate/d", red}},
			did:   []string{"write together a b d", "write x (ensure)", "write together c"},
			want: []string{
				"Crate/a Changed", "  created",
				"Crate/b Failed", "  change of ensure from absent to present failed: broken",
				"Crate/d Changed", "  created", "Thing/x Changed", "  created", "Crate/c Changed", "  created",
			},
		},
		"each of several properties that fail has its own error": {
			given: func(m *machine) {
				there("a")(m)
				m.fail["color a"], m.fail["secret a"] = errBroken, errors.New("leaky")
			},
			items: [][]string{{"Thing/a", `{"color":"blue","secret":"hush"}`}},
			did:   []string{"write a (color secret)"},
			want: []string{
				"Thing/a Failed", "  change of color from red to blue failed: broken", "  change of secret from [redacted] to [redacted] failed: leaky",
			},
		},
		"a change comes before the refresh": {
			given: there("s"),
			items: [][]string{{"Thing/a", red, "notify:Thing/s", "notify:Thing/t"}, {"Thing/s", `{"color":"blue"}`}, {"Thing/t", red}},
			did:   []string{"write a (ensure)", "write s (color)", "refresh s", "write t (ensure)", "refresh t"},
			want: []string{
				"Thing/a Changed", "  created",
				"Thing/s Changed", "  color changed red to blue", "  refreshed by 1 event",
				"Thing/t Changed", "  created", "  refreshed by 1 event",
			},
		},
		"a change that can't be verified fails the resource": {
			given: func(m *machine) { m.onWrite = func(string) { m.fail["read a"] = errBroken } },
			items: [][]string{{"Thing/a", red}},
			did:   []string{"write a (ensure)"},
			want:  []string{"Thing/a Failed", "  cannot verify the change: cannot read the present state: broken"},
		},
		"a bug of a provider fails the resource alone": {
			given: func(m *machine) {
				there("s", "n")(m)
				for _, verb := range []string{"read a", "write b", "refresh s", "generate n", "list truck"} {
					m.fail[verb] = errBug
				}
			},
			items: [][]string{{"Thing/a", red}, {"Thing/b", red}, {"Thing/c", red, "notify:Thing/s"}, {"Thing/s", red}, {"Nest/n", red}, {"Crate/d", red}, {"Thing/e", red}},
			did:   []string{"write b (ensure)", "write c (ensure)", "refresh s", "write e (ensure)"},
			want: []string{
				"Thing/a Failed", "  cannot read the present state: the provider panicked (a bug in the provider): bug",
				"Thing/b Failed", "  change of ensure from absent to present failed: the provider panicked (a bug in the provider): bug",
				"Thing/c Changed", "  created",
				"Thing/s Failed", "  cannot refresh: the provider panicked (a bug in the provider): bug",
				"Nest/n Failed", "  cannot generate its resources: the provider panicked (a bug in the provider): bug",
				"Crate/d Failed", "  cannot read the present state: the provider panicked (a bug in the provider): bug",
				"Thing/e Changed", "  created",
			},
		},
		"a panic while choosing a provider fails only that resource": {
			given: func(m *machine) { m.suits["truck"] = errBug },
			items: [][]string{{"Crate/a", red}, {"Thing/b", red}},
			did:   []string{"write b (ensure)"},
			want:  []string{"Crate/a Failed", "  the provider panicked (a bug in the provider): bug", "Thing/b Changed", "  created"},
		},
		"a prefetch that fails fails only the resources of its provider": {
			given: func(m *machine) { m.fail["list truck"] = errBroken },
			items: [][]string{{"Crate/a", red}, {"Crate/b", red}, {"Thing/c", red}},
			did:   []string{"write c (ensure)"},
			want: []string{
				"Crate/a Failed", "  cannot read the present state: broken",
				"Crate/b Failed", "  cannot read the present state: broken",
				"Thing/c Changed", "  created",
			},
		},
		"a prefetch is that of a kind, also where another has a provider of the same name": {
			given: func(m *machine) { m.fail["list truck"] = errBroken },
			items: [][]string{{"Crate/a", red}, {"Barrel/b", red}},
			want: []string{
				"Crate/a Failed", "  cannot read the present state: broken",
				"Barrel/b Failed", "  cannot read the present state: broken",
			},
		},
		"a provider that appears during the run is awaited": {
			given: func(m *machine) {
				m.suits["truck"] = errBroken
				m.onWrite = func(string) { m.suits["truck"] = nil }
			},
			items: [][]string{{"Crate/a", red}, {"Thing/b", red}},
			did:   []string{"write b (ensure)", "write together a"},
			want:  []string{"Thing/b Changed", "  created", "Crate/a Changed", "  created"},
		},
		"a provider is awaited as long as others appear": {
			given: func(m *machine) {
				next := map[string]string{"c": "bird", "b": "truck"}
				m.suits["bird"], m.suits["truck"] = errBroken, errBroken
				m.onWrite = func(name string) { m.suits[next[name]] = nil }
			},
			items: [][]string{{"Crate/a", red}, {"Nest/b", red}, {"Thing/c", red}},
			did:   []string{"write c (ensure)", "write b (ensure)", "write together a"},
			want:  []string{"Thing/c Changed", "  created", "Nest/b Changed", "  created", "Crate/a Changed", "  created"},
		},
		"a provider that goes away during the run is used no more": {
			given: func(m *machine) {
				m.suits["tool"] = errBroken
				m.onWrite = func(string) { m.suits["hand"] = errors.New("gone") }
			},
			items: [][]string{{"Thing/a", red}, {"Thing/b", red}},
			did:   []string{"write a (ensure)"},
			want: []string{
				"Thing/a Changed", "  created",
				"Thing/b Failed", "  cannot find a suitable provider for Thing: hand: gone; tool: broken",
			},
		},
		"a provider that never comes fails the resource with every reason": {
			given: func(m *machine) { m.suits["hand"], m.suits["tool"] = errBroken, errors.New("not here") },
			items: [][]string{{"Thing/a", red}, {"Crate/b", red}},
			did:   []string{"write together b"},
			want: []string{
				"Crate/b Changed", "  created",
				"Thing/a Failed", "  cannot find a suitable provider for Thing: hand: broken; tool: not here",
			},
		},
	} {
		t.Run(name, func(t *testing.T) { s.play(t) })
	}
}

func TestPrefetchIsPerProvider(t *testing.T) {
	m := newMachine()
	m.fail["list truck"] = errBroken
	typ := m.typ("Box", []resource.Provider[thing]{batching{plain{m, "truck"}}, batching{plain{m, "cart"}}})
	items := []resource.Item{of(t, typ, "a", red), of(t, typ, "b", red)}
	items[1].Provider = "cart"
	want := []string{"Box/a Failed", "  cannot read the present state: broken", "Box/b Changed", "  created"}
	if diff := cmp.Diff(want, lines(transact(t, items))); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestResourceNoopOverridesRunNoop(t *testing.T) {
	m := newMachine()
	a, b := m.item(t, "Thing/a", red), m.item(t, "Thing/b", red)
	a.Noop, b.Noop = new(false), new(true)
	want := []string{"Thing/a Changed", "  created", "Thing/b Noop", "  created (noop)"}
	for what, with := range map[string][]func(*engine.Transaction){"a run that applies": nil, "a run that only reports": {noop}} {
		clear(m.things)
		if diff := cmp.Diff(want, lines(transact(t, []resource.Item{a, b}, with...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestASecondRunChangesNothing(t *testing.T) {
	m := newMachine()
	items := func() []resource.Item {
		return []resource.Item{m.item(t, "Crate/a", red, "notify:Thing/b"), m.item(t, "Thing/b", red), m.item(t, "Crate/c", red)}
	}
	transact(t, items())
	m.log, m.listed = nil, 0
	second := transact(t, items())
	if second.Status != "unchanged" || second.Counts != (report.Counts{Total: 3, InSync: 3}) || m.log != nil || m.listed != 1 {
		t.Errorf("status %s, counts %+v, done %v, listed %d times", second.Status, second.Counts, m.log, m.listed)
	}
}

func TestRunInSyncSyncsNothingToDisk(t *testing.T) {
	m, store := newMachine(), newMemory()
	for range 2 {
		store.synced = 0
		transact(t, []resource.Item{m.item(t, "Thing/a", red, "notify:Thing/b"), m.item(t, "Thing/b", red)}, storing(store))
	}
	if store.synced != 0 {
		t.Errorf("%d times", store.synced)
	}
}

func TestProviderIsChosenAgainOnlyAfterAWrite(t *testing.T) {
	for name, test := range map[string]struct {
		given func(*machine)
		items [][]string
		want  map[string]int
	}{
		"one that can work, for all of its kind": {
			given: func(m *machine) {
				for _, name := range []string{"a", "b", "c"} {
					m.things[name] = redThing(name)
				}
			},
			items: [][]string{{"Thing/a", red}, {"Thing/b", red}, {"Thing/c", red}},
			want:  map[string]int{"hand": 1, "tool": 1},
		},
		"one that can't, where nothing is written": {
			given: func(m *machine) { m.suits["truck"] = errBroken; m.things["x"] = redThing("x") },
			items: [][]string{{"Crate/a", red}, {"Thing/x", red}},
			want:  map[string]int{"truck": 1, "hand": 1, "tool": 1},
		},
		"one that can't, where something is": {
			given: func(m *machine) { m.suits["truck"] = errBroken },
			items: [][]string{{"Crate/a", red}, {"Thing/x", red}},
			want:  map[string]int{"truck": 2, "hand": 1, "tool": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			test.given(m)
			var items []resource.Item
			for _, i := range test.items {
				items = append(items, m.item(t, i[0], i[1]))
			}
			transact(t, items)
			if diff := cmp.Diff(test.want, m.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProviderReadsAllResourcesInOneCall(t *testing.T) {
	m := newMachine()
	for _, name := range []string{"a", "b", "c", "d"} {
		m.things[name] = redThing(name)
	}
	transact(t, []resource.Item{
		m.item(t, "Crate/a", red), m.item(t, "Thing/b", red), m.item(t, "Crate/c", red, "require:Thing/b"), m.item(t, "Barrel/d", red),
	})
	if m.listed != 2 { // of the crates and of the barrel
		t.Errorf("listed %d times", m.listed)
	}
}

func TestOnlyDriftIsCorrective(t *testing.T) {
	m, store := newMachine(), newMemory()
	run := func(color string, with ...func(*engine.Transaction)) []string {
		item := m.item(t, "Thing/a", `{"ensure":"present","color":"`+color+`"}`)
		return lines(transact(t, []resource.Item{item}, append(with, storing(store))...))
	}
	drift := func() { m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("green")} }
	check := func(what string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("first run", run("red"), "Thing/a Changed", "  created")
	check("new intention", run("blue"), "Thing/a Changed", "  color changed red to blue")
	drift()
	check("drift seen in noop", run("blue", noop), "Thing/a Noop", "  color changed green to blue (noop) (corrective)")
	check("drift after noop", run("blue"), "Thing/a Changed", "  color changed green to blue (corrective)")
	delete(m.things, "a")
	check("removed by hand", run("blue"), "Thing/a Changed", "  created (corrective)")
	drift()
	check("drift that is the new intention", run("green"), "Thing/a InSync")
	check("then a new intention", run("red"), "Thing/a Changed", "  color changed green to red")
}

func TestMissedRefreshIsPendingInTheNextRun(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["s"] = thing{Name: "s", Ensure: new("present"), Color: new("red")}
	items := func() []resource.Item {
		return []resource.Item{m.item(t, "Thing/a", red, "notify:Thing/s"), m.item(t, "Thing/s", red)}
	}
	m.fail["refresh s"] = errBroken
	transact(t, items(), storing(store))
	delete(m.fail, "refresh s")
	want := []string{"Thing/a InSync", "Thing/s Refreshed", "  refreshed by 1 event"}
	if diff := cmp.Diff(want, lines(transact(t, items(), storing(store)))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Thing/a InSync", "Thing/s InSync"}, lines(transact(t, items(), storing(store)))); diff != "" {
		t.Error(diff)
	}
	if len(store.armed) != 0 {
		t.Errorf("still due: %v", store.armed)
	}
}

func TestRefreshIsStoredBeforeTheChangeThatCausesIt(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["s"] = redThing("s")
	var due int
	m.onWrite = func(string) { due = len(store.armed) }
	transact(t, []resource.Item{m.item(t, "Thing/a", red, "notify:Thing/s"), m.item(t, "Thing/s", red)}, storing(store))
	if due != 1 {
		t.Errorf("%d refreshes were on disk when the host was changed", due)
	}
}

func TestStoppedRunFinishesTheCurrentResource(t *testing.T) {
	m := newMachine()
	ctx, stop := context.WithCancel(t.Context())
	m.onWrite = func(string) { stop() }
	result, err := engine.Transaction{Host: struct{ host.Host }{}, Now: stoodStill}.Run(ctx, []resource.Item{m.item(t, "Thing/a", red), m.item(t, "Thing/b", red)})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Thing/a Changed", "  created", "Thing/b Skipped", "  the run was stopped before its turn"}
	if diff := cmp.Diff(want, lines(result)); diff != "" || result.Status != "failed" {
		t.Errorf("the run is %s: %s", result.Status, diff)
	}
}

func TestStoppedRunChangesNothingThatItHasReadAlready(t *testing.T) {
	m := newMachine()
	m.things["a"], m.things["b"] = redThing("a"), colored("green")
	ctx, stop := context.WithCancel(t.Context())
	m.onWrite = func(string) { stop() }
	items := []resource.Item{m.item(t, "Barrel/a", red), m.item(t, "Thing/x", red), m.item(t, "Barrel/b", red)}
	result, err := engine.Transaction{Host: struct{ host.Host }{}, Now: stoodStill}.Run(ctx, items)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Barrel/a InSync", "Thing/x Changed", "  created", "Barrel/b Skipped", "  the run was stopped before its turn"}
	if diff := cmp.Diff(want, lines(result)); diff != "" || m.listed != 1 {
		t.Errorf("read barrels %d times; report (-want +got):\n%s", m.listed, diff)
	}
}

func TestRunFailsAfterTimeout(t *testing.T) {
	m := newMachine()
	ctx, stop := context.WithCancelCause(t.Context())
	m.onWrite = func(string) { stop(errors.New("an hour is over")) }
	result, err := engine.Transaction{Host: struct{ host.Host }{}, Now: stoodStill}.Run(ctx, []resource.Item{m.item(t, "Thing/a", red), m.item(t, "Thing/b", red)})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Thing/a Changed", "  created", "Thing/b Skipped", "  the run was stopped before its turn: an hour is over"}
	if diff := cmp.Diff(want, lines(result)); diff != "" {
		t.Error(diff)
	}
	if result.Status != "failed" || result.Message != "the run was stopped before its end: an hour is over" {
		t.Errorf("the run is %s: %s", result.Status, result.Message)
	}
}

func TestUnselectedResourcesAreSkippedWithoutBlockingOthers(t *testing.T) {
	m := newMachine()
	only := func(tx *engine.Transaction) {
		tx.Selected = func(i resource.Item) bool { return i.Ref.Name == "b" }
	}
	got := lines(transact(t, []resource.Item{m.item(t, "Thing/a", red), m.item(t, "Thing/b", red, "require:Thing/a")}, only))
	if diff := cmp.Diff([]string{"Thing/a Skipped", "  not selected", "Thing/b Changed", "  created"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsStayOutOfTheReportAndTheStore(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["a"] = thing{Name: "a", Ensure: new("present"), Secret: new("s3cr3t-old")}
	m.fail["secret a"] = errors.New("no")
	result := transact(t, []resource.Item{m.item(t, "Thing/a", `{"secret":"s3cr3t-new"}`)}, storing(store))
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"Report","apiVersion":"fettle.dev/v1alpha1","host":"","status":"failed","noop":false,"correctiveChange":false,` +
		`"started":"1970-01-01T00:00:00Z","duration":"0.000s","catalogDigest":"",` +
		`"counts":{"total":1,"inSync":0,"changed":0,"outOfSync":1,"failed":1,"skipped":0,"noop":0,"refreshed":0},` +
		`"metrics":{"time":{"Thing":"0.000s","total":"0.000s"},` +
		`"events":{"total":1,"success":0,"failure":1,"noop":0,"audit":0},"changes":{"total":0}},` +
		`"resources":[{"ref":"Thing/a","provider":"hand","state":"Failed","duration":"0.000s",` +
		`"message":"change of secret from [redacted] to [redacted] failed: no",` +
		`"events":[{"property":"secret","is":"[redacted]","should":"[redacted]","status":"failure","level":"err","corrective":false,` +
		`"message":"change of secret from [redacted] to [redacted] failed: no"}]}]}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Error(diff)
	}
	if len(store.observed) != 0 {
		t.Errorf("stored: %v", store.observed)
	}
}

func TestPartialChangeOfFailedResourceLeavesRefreshPending(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("red")}
	m.things["s"] = thing{Name: "s", Ensure: new("present"), Color: new("red")}
	items := func() []resource.Item {
		return []resource.Item{m.item(t, "Thing/a", `{"color":"blue","secret":"hush"}`, "notify:Thing/s"), m.item(t, "Thing/s", red)}
	}
	m.fail["secret a"] = errBroken
	transact(t, items(), storing(store))
	m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("blue"), Secret: new("hush")} // fixed by hand
	want := []string{"Thing/a InSync", "Thing/s Refreshed", "  refreshed by 1 event"}
	if diff := cmp.Diff(want, lines(transact(t, items(), storing(store)))); diff != "" {
		t.Error(diff)
	}
}

func TestFailureWithoutChangeRefreshesNothing(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["s"] = thing{Name: "s", Ensure: new("present"), Color: new("red")}
	items := func() []resource.Item {
		return []resource.Item{m.item(t, "Thing/a", red, "notify:Thing/s"), m.item(t, "Thing/s", red)}
	}
	m.fail["write a"] = errBroken
	transact(t, items(), storing(store))
	m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("red")} // made by hand
	want := []string{"Thing/a InSync", "Thing/s InSync"}
	if diff := cmp.Diff(want, lines(transact(t, items(), storing(store)))); diff != "" {
		t.Error(diff)
	}
}

func TestPendingRefreshSurvivesAbsenceFromTheCatalog(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["s"] = thing{Name: "s", Ensure: new("present"), Color: new("red")}
	m.fail["refresh s"] = errBroken
	both := func() []resource.Item {
		return []resource.Item{m.item(t, "Thing/a", red, "notify:Thing/s"), m.item(t, "Thing/s", red)}
	}
	transact(t, both(), storing(store))
	transact(t, []resource.Item{m.item(t, "Thing/a", red)}, storing(store))
	delete(m.fail, "refresh s")
	want := []string{"Thing/a InSync", "Thing/s Refreshed", "  refreshed by 1 event"}
	if diff := cmp.Diff(want, lines(transact(t, both(), storing(store)))); diff != "" {
		t.Error(diff)
	}
}

func TestRemovedResourcesAreForgottenExceptInNoop(t *testing.T) {
	m, store := newMachine(), newMemory()
	a, b := m.item(t, "Thing/a", red), m.item(t, "Thing/b", red)
	transact(t, []resource.Item{a, b}, storing(store))
	transact(t, []resource.Item{b}, storing(store))
	transact(t, nil, storing(store), noop)
	if store.observed[a.Ref] != nil || store.observed[b.Ref] == nil {
		t.Errorf("remembered are %v", store.observed)
	}
}

func TestResourceAppliedInNoopRunIsRefreshedOnce(t *testing.T) {
	m, store := newMachine(), newMemory()
	items := func() []resource.Item {
		a, s := m.item(t, "Thing/a", red, "notify:Thing/s"), m.item(t, "Thing/s", red)
		a.Noop, s.Noop = new(false), new(false)
		return []resource.Item{a, s}
	}
	m.things["s"] = thing{Name: "s", Ensure: new("present"), Color: new("red")}
	transact(t, items(), storing(store), noop)
	want := []string{"Thing/a InSync", "Thing/s InSync"}
	if diff := cmp.Diff(want, lines(transact(t, items(), storing(store), noop))); diff != "" {
		t.Error(diff)
	}
	m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("green")}
	want = []string{"Thing/a Changed", "  color changed green to red (corrective)", "Thing/s Refreshed", "  refreshed by 1 event"}
	if diff := cmp.Diff(want, lines(transact(t, items(), storing(store), noop))); diff != "" {
		t.Error(diff)
	}
}

func TestBatchExcludesNoopResources(t *testing.T) {
	m := newMachine()
	items := []resource.Item{m.item(t, "Crate/a", red), m.item(t, "Crate/b", red), m.item(t, "Crate/c", red)}
	items[1].Noop = new(true)
	want := []string{"Crate/a Changed", "  created", "Crate/b Noop", "  created (noop)", "Crate/c Changed", "  created"}
	if diff := cmp.Diff(want, lines(transact(t, items))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"write together a c"}, m.log); diff != "" {
		t.Error(diff)
	}
}

func TestRefreshWithSideEffectsInvalidatesReadahead(t *testing.T) {
	m := newMachine()
	there := thing{Ensure: new("present"), Color: new("red")}
	m.things["a"], m.things["b"] = there, there
	transact(t, []resource.Item{
		m.item(t, "Thing/x", red, "notify:Crate/a"), m.item(t, "Crate/a", red), m.item(t, "Crate/b", red, "require:Crate/a"),
	})
	if diff := cmp.Diff([]string{"write x (ensure)", "refresh a"}, m.log); diff != "" || m.listed != 2 {
		t.Errorf("listed %d times, and %s", m.listed, diff)
	}
}

func TestOnlyHandledResourcesAreAnnounced(t *testing.T) {
	m := newMachine()
	items := []resource.Item{m.item(t, "Thing/a", red), m.item(t, "Thing/b", red, "require:Thing/none"), m.item(t, "Thing/c", red)}
	var announced []string
	transact(t, items, func(tx *engine.Transaction) {
		tx.Selected = func(i resource.Item) bool { return i.Ref.Name != "c" }
		tx.Begin = func(refs []resource.Ref) {
			for _, ref := range refs {
				announced = append(announced, ref.String())
			}
		}
	})
	if diff := cmp.Diff([]string{"Thing/a", "Thing/a"}, announced); diff != "" {
		t.Errorf("announced (-want +got):\n%s", diff)
	}
}

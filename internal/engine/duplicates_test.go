package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A telling provider identifies things that have two names.
type telling struct {
	plain
	alias map[string]string
	asked *int
}

func (p telling) Identify(_ context.Context, _ resource.Reader, wants []thing) []string {
	*p.asked++
	out := make([]string, len(wants))
	for i, want := range wants {
		out[i] = p.alias[want.Name]
	}
	return out[min(p.m.short, len(out)):]
}

func TestDuplicateResourcesFailBeforeAnyChange(t *testing.T) {
	same := func(name, other string) string {
		return `  "` + name + `" is on this host the same as "` + other + `" of Twin/` + other +
			": keep one of the two resources, or let their nodeSelector or when exclude each other"
	}
	for name, c := range map[string]struct {
		given func(*machine)
		alias map[string]string
		items func(*machine, func(name string) resource.Item) []resource.Item
		with  func(*engine.Transaction)
		asked int
		did   []string
		want  []string // as the report is at the end
	}{
		"both fail, and their dependents are skipped": {
			alias: map[string]string{"a": "1", "b": "1", "c": "2"}, asked: 1,
			items: func(m *machine, twin func(string) resource.Item) []resource.Item {
				return []resource.Item{twin("a"), twin("b"), twin("c"), m.item(t, "Thing/x", red, "require:Twin/b")}
			},
			did:  []string{"write c (ensure)"},
			want: []string{"Twin/a Failed", same("a", "b"), "Twin/b Failed", same("b", "a"), "Twin/c Changed", "  created", "Thing/x Skipped", "  skipped because of failed dependencies: Twin/b"},
		},
		"in a run that only reports, too": {
			alias: map[string]string{"a": "1", "b": "1"}, asked: 1, with: noop,
			items: func(_ *machine, twin func(string) resource.Item) []resource.Item {
				return []resource.Item{twin("a"), twin("b")}
			},
			want: []string{"Twin/a Failed", same("a", "b"), "Twin/b Failed", same("b", "a")},
		},
		"also the one that was found in sync before": {
			given: func(m *machine) { m.things["a"] = redThing("a") },
			alias: map[string]string{"a": "1", "b": "1"}, asked: 1,
			items: func(_ *machine, twin func(string) resource.Item) []resource.Item {
				return []resource.Item{twin("a"), twin("b")}
			},
			want: []string{"Twin/a Failed", same("a", "b"), "Twin/b Failed", same("b", "a")},
		},
		"also behind one that is nobody's like and one of which nothing is known": {
			alias: map[string]string{"b": "1", "c": "1"}, asked: 2,
			items: func(m *machine, twin func(string) resource.Item) []resource.Item {
				return []resource.Item{m.item(t, "Thing/x", red), twin("d"), twin("b"), twin("c")}
			},
			did: []string{"write x (ensure)", "write d (ensure)"},
			want: []string{
				"Thing/x Changed", "  created", "Twin/d Changed", "  created", "Twin/b Failed", same("b", "c"), "Twin/c Failed", same("c", "b"),
			},
		},
		"and one that has failed keeps its reason": {
			given: func(m *machine) { m.fail["read a"] = errBroken },
			alias: map[string]string{"a": "1", "b": "1"}, asked: 1,
			items: func(_ *machine, twin func(string) resource.Item) []resource.Item {
				return []resource.Item{twin("a"), twin("b")}
			},
			want: []string{"Twin/a Failed", "  cannot read the present state: broken", "Twin/b Failed", same("b", "a")},
		},
		"not identified in a run without changes": {
			given: func(m *machine) { m.things["a"], m.things["b"] = redThing("a"), redThing("b") },
			alias: map[string]string{"a": "1", "b": "1"},
			items: func(_ *machine, twin func(string) resource.Item) []resource.Item {
				return []resource.Item{twin("a"), twin("b")}
			},
			want: []string{"Twin/a InSync", "Twin/b InSync"},
		},
		"also when that shows only after a change": {
			alias: map[string]string{"b": "1"}, asked: 2,
			items: func(_ *machine, twin func(string) resource.Item) []resource.Item {
				return []resource.Item{twin("b"), twin("a")}
			},
			did:  []string{"write b (ensure)"},
			want: []string{"Twin/b Failed", "  created", same("b", "a"), "Twin/a Failed", same("a", "b")},
		},
		"which takes a provider that answers for each": {
			given: func(m *machine) { m.short = 1 },
			alias: map[string]string{"a": "1", "b": "2"}, asked: 1,
			items: func(_ *machine, twin func(string) resource.Item) []resource.Item {
				return []resource.Item{twin("a"), twin("b")}
			},
			want: []string{
				"Twin/a Failed", "  cannot tell it apart from others: provider hand returned 1 results for 2 resources (a bug in the provider)",
				"Twin/b Failed", "  cannot tell it apart from others: provider hand returned 1 results for 2 resources (a bug in the provider)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, asked := newMachine(), 0
			if c.given != nil {
				c.given(m)
			}
			m.onWrite = func(string) { c.alias["a"] = "1" }
			typ := m.typ("Twin", []resource.Provider[thing]{telling{plain{m, "hand"}, c.alias, &asked}})
			items := c.items(m, func(name string) resource.Item { return of(t, typ, name, red) })
			with := []func(*engine.Transaction){}
			if c.with != nil {
				with = append(with, c.with)
			}
			result := transact(t, items, with...)
			if diff := cmp.Diff(c.want, lines(result)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.did, m.log); diff != "" || asked != c.asked {
				t.Errorf("asked %d times, done (-want +got):\n%s", asked, diff)
			}
		})
	}
}

func TestChangeUndoneInTheSameRunFails(t *testing.T) {
	// undo makes the write of one thing change another.
	undo := func(writing, name string, to *thing) func(*machine) {
		return func(m *machine) {
			m.onWrite = func(now string) {
				switch {
				case now != writing:
				case to == nil:
					delete(m.things, name)
				default:
					m.things[name] = *to
				}
			}
		}
	}
	for name, c := range map[string]struct {
		scenario
		listed int
	}{
		"undoes a resource that was in sync": {listed: 2, scenario: scenario{
			given: func(m *machine) { m.things["a"] = redThing("a"); undo("b", "a", nil)(m) },
			items: [][]string{{"Crate/a", red}, {"Crate/b", red}},
			did:   []string{"write together b"},
			want:  []string{"Crate/a Failed", "  was undone in the same run, by Crate/b: ensure is absent, should be present", "Crate/b Changed", "  created"},
		}},
		"undoes a change of another kind": {scenario: scenario{
			given: undo("b", "a", new(colored("green"))),
			items: [][]string{{"Thing/a", red}, {"Crate/b", red}, {"Thing/c", red}},
			did:   []string{"write a (ensure)", "write together b", "write c (ensure)"},
			want: []string{
				"Thing/a Failed", "  created", "  was undone in the same run, by Crate/b: color is green, should be red",
				"Crate/b Changed", "  created", "Thing/c Changed", "  created",
			},
		}, listed: 1},
		"all that may have done it are named, the last first": {scenario: scenario{
			given: undo("b", "a", nil),
			items: [][]string{{"Thing/a", red}, {"Crate/b", red}, {"Crate/c", red, "require:Crate/b"}},
			did:   []string{"write a (ensure)", "write together b", "write together c"},
			want: []string{
				"Thing/a Failed", "  created", "  was undone in the same run, by Crate/c, Crate/b: ensure is absent, should be present",
				"Crate/b Changed", "  created", "Crate/c Changed", "  created",
			},
		}, listed: 3},
		"makes a resource unreadable": {scenario: scenario{
			given: func(m *machine) {
				m.onWrite = func(now string) {
					if now == "b" {
						m.fail["read a"] = errBroken
						delete(m.things, "c")
					}
				}
			},
			items: [][]string{{"Thing/a", red}, {"Thing/c", red}, {"Crate/b", red}},
			did:   []string{"write a (ensure)", "write c (ensure)", "write together b"},
			want: []string{
				"Thing/a Failed", "  created", "  cannot tell whether later changes, of Crate/b, undid it: cannot read the present state: broken",
				"Thing/c Failed", "  created", "  was undone in the same run, by Crate/b: ensure is absent, should be present",
				"Crate/b Changed", "  created",
			},
		}, listed: 1},
		"what was refreshed before, behind what only reports": {scenario: scenario{
			given: func(m *machine) { m.things["s"] = redThing("s"); undo("b", "s", nil)(m) },
			items: [][]string{{"Thing/n", red, "noop"}, {"Thing/a", red, "notify:Thing/s"}, {"Thing/s", red}, {"Crate/b", red}},
			did:   []string{"write a (ensure)", "refresh s", "write together b"},
			want: []string{
				"Thing/n Noop", "  created (noop)", "Thing/a Changed", "  created",
				"Thing/s Failed", "  refreshed by 1 event", "  was undone in the same run, by Crate/b: ensure is absent, should be present",
				"Crate/b Changed", "  created",
			},
		}, listed: 1},
		"but nothing that has failed is read again": {scenario: scenario{
			given: func(m *machine) { m.fail["write a"] = errBroken },
			items: [][]string{{"Crate/a", red}, {"Crate/b", red, "require:Thing/x"}, {"Thing/x", red}},
			did:   []string{"write together a", "write x (ensure)", "write together b"},
			want: []string{
				"Crate/a Failed", "  change of ensure from absent to present failed: broken", "Thing/x Changed", "  created", "Crate/b Changed", "  created",
			},
		}, listed: 2},
		"but nothing that only reports": {scenario: scenario{
			given: func(m *machine) { m.things["a"] = redThing("a"); undo("b", "a", nil)(m) },
			items: [][]string{{"Crate/a", red, "noop"}, {"Crate/b", red}},
			did:   []string{"write together b"},
			want:  []string{"Crate/a InSync", "Crate/b Changed", "  created"},
		}, listed: 2},
	} {
		t.Run(name, func(t *testing.T) {
			if m := c.play(t); m.listed != c.listed {
				t.Errorf("everything was read %d times, not %d", m.listed, c.listed)
			}
		})
	}
}

// A resource whose change was undone is reported again as failed, and is drift in the next run.
func TestAmendedReportIsSentAgain(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.onWrite = func(now string) {
		if now == "b" {
			m.things["a"] = colored("green")
		}
	}
	var told []string
	observing := func(tx *engine.Transaction) {
		tx.Observe = func(r report.ResourceReport) { told = append(told, r.Ref.String()+" "+string(r.State)) }
	}
	items := func() []resource.Item { return []resource.Item{m.item(t, "Thing/a", red), m.item(t, "Crate/b", red)} }
	result := transact(t, items(), observing, storing(store))
	if diff := cmp.Diff([]string{"Thing/a Changed", "Crate/b Changed", "Thing/a Failed"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if result.Status != "failed" || result.Counts.Failed != 1 || result.Counts.Changed != 1 || result.Counts.Total != 2 {
		t.Errorf("status %s, counts %+v", result.Status, result.Counts)
	}
	want := []string{"Thing/a Changed", "  color changed green to red (corrective)", "Crate/b InSync"}
	if diff := cmp.Diff(want, lines(transact(t, items(), storing(store)))); diff != "" {
		t.Errorf("the next run (-want +got):\n%s", diff)
	}
}

func TestStoppedRunDoesNotVerifyChanges(t *testing.T) {
	m := newMachine()
	ctx, stop := context.WithCancelCause(t.Context())
	m.onWrite = func(now string) {
		if now == "b" {
			delete(m.things, "a")
			stop(errors.New("enough"))
		}
	}
	result, err := engine.Transaction{Host: struct{ host.Host }{}, Now: stoodStill}.Run(ctx, []resource.Item{
		m.item(t, "Thing/a", red), m.item(t, "Crate/b", red), m.item(t, "Thing/c", red),
	})
	want := []string{"Thing/a Changed", "  created", "Crate/b Changed", "  created", "Thing/c Skipped", "  the run was stopped before its turn: enough"}
	if diff := cmp.Diff(want, lines(result)); diff != "" || err != nil {
		t.Errorf("%v, report (-want +got):\n%s", err, diff)
	}
}

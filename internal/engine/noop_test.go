package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// A noop run reports exactly the changes that an apply would make.
func TestNoopPredictsApply(t *testing.T) {
	missing := func(kind, name string) error {
		return &resource.MissingError{Kind: kind, Name: name, Err: errors.New(name + " is not there")}
	}
	for name, s := range map[string]scenario{
		"an unreadable resource awaits changes of its dependencies": {
			given: func(m *machine) { m.fail["read s"] = errBroken },
			items: [][]string{{"Thing/x", red}, {"Thing/y", red, "require:Thing/x"}, {"Thing/s", red, "require:Thing/y"}, {"Thing/z", red}},
			want: []string{
				"Thing/x Noop", "  created (noop)", "Thing/y Noop", "  created (noop)",
				"Thing/s Noop", "  depends on Thing/x, Thing/y, which would be applied first: cannot read the present state: broken",
				"Thing/z Noop", "  created (noop)",
			},
		},
		"an unreadable resource fails without pending changes before it": {
			given: func(m *machine) { m.things["y"] = redThing("y"); m.fail["read s"] = errBroken },
			items: [][]string{{"Thing/x", red}, {"Thing/y", red}, {"Thing/s", red, "require:Thing/y"}},
			want: []string{
				"Thing/x Noop", "  created (noop)", "Thing/y InSync", "Thing/s Failed", "  cannot read the present state: broken",
			},
		},
		"dependents of an awaiting resource wait too": {
			given: func(m *machine) { m.fail["read s"] = errBroken; m.fail["read t"] = errBroken },
			items: [][]string{{"Thing/x", red}, {"Thing/s", red, "require:Thing/x"}, {"Thing/t", red, "require:Thing/s"}},
			want: []string{
				"Thing/x Noop", "  created (noop)",
				"Thing/s Noop", "  depends on Thing/x, which would be applied first: cannot read the present state: broken",
				"Thing/t Noop", "  depends on Thing/x, Thing/s, which would be applied first: cannot read the present state: broken",
			},
		},
		"any pending change may provide a missing provider": {
			given: func(m *machine) { m.suits["truck"] = errBroken },
			items: [][]string{{"Crate/s", red}, {"Thing/x", red}},
			want: []string{
				"Thing/x Noop", "  created (noop)",
				"Crate/s Noop", "  depends on Thing/x, which would be applied first: cannot find a suitable provider for Crate: truck: broken",
			},
		},
		"a missing provider awaits pending changes before it": {
			given: func(m *machine) { m.suits["truck"] = errBroken },
			items: [][]string{{"Thing/x", red}, {"Thing/y", red}, {"Crate/s", red, "require:Thing/y"}},
			want: []string{
				"Thing/x Noop", "  created (noop)", "Thing/y Noop", "  created (noop)",
				"Crate/s Noop", "  depends on Thing/y, which would be applied first: cannot find a suitable provider for Crate: truck: broken",
			},
		},
		"dependents of a generator with pending changes wait": {
			given: func(m *machine) {
				m.things["n"] = redThing("n")
				m.nested = map[string][]string{"n": {"child"}}
				m.fail["read s"] = errBroken
			},
			items: [][]string{{"Nest/n", red}, {"Thing/s", red, "require:Nest/n"}},
			want: []string{
				"Thing/child Noop", "  created (noop)", "Nest/n InSync",
				"Thing/s Noop", "  depends on Nest/n, which would be applied first: cannot read the present state: broken",
			},
		},
		"a missing provider fails without pending changes": {
			given: func(m *machine) { m.things["x"] = redThing("x"); m.suits["truck"] = errBroken },
			items: [][]string{{"Crate/s", red}, {"Thing/x", red}},
			want:  []string{"Thing/x InSync", "Crate/s Failed", "  cannot find a suitable provider for Crate: truck: broken"},
		},
		"a change that would fail fails the resource and skips its dependents": {
			given: func(m *machine) { m.fail["precheck a"] = errBroken },
			items: [][]string{{"Crate/a", red}, {"Crate/b", red}, {"Thing/x", red, "require:Crate/a"}},
			want: []string{
				"Crate/a Failed", "  cannot be applied: broken", "Crate/b Noop", "  created (noop)",
				"Thing/x Skipped", "  skipped because of failed dependencies: Crate/a",
			},
		},
		"a missing thing may be created by the run": {
			given: func(m *machine) { m.fail["precheck a"] = errors.Join(missing("Thing", "x"), missing("Thing", "y")) },
			items: [][]string{{"Thing/x", red}, {"Thing/y", red}, {"Crate/a", red}},
			want: []string{
				"Thing/x Noop", "  created (noop)", "Thing/y Noop", "  created (noop)", "Crate/a Noop", "  created (noop)",
			},
		},
		"one of several alternatives may be created by the run": {
			given: func(m *machine) {
				m.fail["precheck a"] = &resource.MissingError{Kind: "Nest", Name: "x", Err: missing("Thing", "x")}
			},
			items: [][]string{{"Thing/x", red}, {"Crate/a", red}},
			want:  []string{"Thing/x Noop", "  created (noop)", "Crate/a Noop", "  created (noop)"},
		},
		"a missing thing created later, or of another kind, is missing": {
			given: func(m *machine) { m.fail["precheck a"] = errors.Join(missing("Thing", "x"), missing("Crate", "y")) },
			items: [][]string{{"Thing/y", red}, {"Crate/a", red}, {"Thing/x", red}},
			want: []string{
				"Thing/y Noop", "  created (noop)", "Crate/a Failed", "  cannot be applied: x is not there; y is not there", "Thing/x Noop", "  created (noop)",
			},
		},
		"a thing below a directory may be created by the run": {
			given: func(m *machine) { m.fail["precheck a"] = missing("Thing", "dir/") },
			items: [][]string{{"Thing/dir/x", red}, {"Crate/a", red}},
			want:  []string{"Thing/dir/x Noop", "  created (noop)", "Crate/a Noop", "  created (noop)"},
		},
		"something beside a directory is not below it": {
			given: func(m *machine) { m.fail["precheck a"] = missing("Thing", "dir/") },
			items: [][]string{{"Thing/directory", red}, {"Crate/a", red}},
			want:  []string{"Thing/directory Noop", "  created (noop)", "Crate/a Failed", "  cannot be applied: dir/ is not there"},
		},
		"a thing to be removed counts as missing": {
			given: func(m *machine) { m.things["x"] = redThing("x"); m.fail["precheck a"] = missing("Thing", "x") },
			items: [][]string{{"Thing/x", `{"ensure":"absent"}`}, {"Crate/a", red}},
			want:  []string{"Thing/x Noop", "  removed (noop)", "Crate/a Failed", "  cannot be applied: x is not there"},
		},
		"foreign code decides the outcome of a resource, and what those after it find": {
			given: func(m *machine) {
				m.fail["precheck p"] = &resource.UnknownError{Reason: "runs a command"}
				m.things["y"] = redThing("y")
			},
			items: [][]string{{"Crate/p", red}, {"Thing/x", red, "require:Crate/p"}, {"Thing/y", red, "require:Crate/p"}, {"Thing/z", red}},
			want: []string{
				"Crate/p Noop", "  created (noop) (unknown: runs a command)", "Thing/x Noop", "  created (noop) (unknown: comes after Crate/p)",
				"Thing/y InSync", "Thing/z Noop", "  created (noop)",
			},
		},
		"an error counts more than what is unknown": {
			given: func(m *machine) {
				m.fail["precheck p"] = errors.Join(&resource.UnknownError{Reason: "runs a command"}, errBroken)
			},
			items: [][]string{{"Crate/p", red}},
			want:  []string{"Crate/p Failed", "  cannot be applied: broken"},
		},
		"foreign code may provide things for later ones": {
			given: func(m *machine) {
				m.fail["precheck p"] = &resource.UnknownError{Reason: "runs a command"}
				m.fail["precheck a"] = errBroken
			},
			items: [][]string{{"Crate/p", red}, {"Thing/x", red, "require:Crate/p"}, {"Crate/a", red, "require:Thing/x"}},
			want: []string{
				"Crate/p Noop", "  created (noop) (unknown: runs a command)", "Thing/x Noop", "  created (noop) (unknown: comes after Crate/p)",
				"Crate/a Noop", "  created (noop) (unknown: comes after Crate/p)",
			},
		},
	} {
		s.with = []func(*engine.Transaction){noop}
		t.Run(name, func(t *testing.T) { s.play(t) })
	}
}

// A plan announces the refreshes that an apply would make.
func TestNoopPredictsRefreshes(t *testing.T) {
	given := func(more func(*machine)) func(*machine) {
		return func(m *machine) {
			m.things["s"] = redThing("s")
			more(m)
		}
	}
	notifies := [][]string{{"Thing/x", red, "notify:Crate/s"}, {"Crate/s", red}}
	created := []string{"Thing/x Noop", "  created (noop)"}
	for name, s := range map[string]scenario{
		"there is nothing to refresh": {
			given: given(func(m *machine) { m.idle["s"] = true }), items: notifies, want: append(created, "Crate/s InSync"),
		},
		"there will be nothing to refresh": {
			given: given(func(*machine) {}),
			items: append([][]string{{"Thing/blocks s", red}}, notifies...),
			want:  append([]string{"Thing/blocks s Noop", "  created (noop)"}, append(created, "Crate/s InSync")...),
		},
		"there may be something to refresh after foreign code": {
			given: given(func(m *machine) {
				m.idle["s"] = true
				m.fail["precheck p"] = &resource.UnknownError{Reason: "runs a command"}
			}),
			items: [][]string{{"Crate/p", red, "notify:Crate/s"}, {"Crate/s", red}},
			want: []string{
				"Crate/p Noop", "  created (noop) (unknown: runs a command)", "Crate/s Noop", "  may be refreshed by 1 event (noop) (unknown: comes after Crate/p)",
			},
		},
		"foreign code does not matter": {
			given: given(func(m *machine) { m.fail["precheck p"] = &resource.UnknownError{Reason: "runs a command"} }),
			items: [][]string{{"Thing/blocks s", red}, {"Crate/p", red, "notify:Crate/s"}, {"Crate/s", red}},
			want: []string{
				"Thing/blocks s Noop", "  created (noop)", "Crate/p Noop", "  created (noop) (unknown: runs a command)", "Crate/s InSync",
			},
		},
		"nobody can tell": {
			given: given(func(m *machine) { m.fail["refresh s"] = &resource.UnknownError{Reason: "runs its checks again"} }), items: notifies,
			want: append(created, "Crate/s Noop", "  may be refreshed by 1 event (noop) (unknown: runs its checks again)"),
		},
		"it would fail": {
			given: given(func(m *machine) { m.fail["refresh s"] = errBroken }), items: notifies,
			want: append(created, "Crate/s Failed", "  cannot be refreshed: broken"),
		},
	} {
		s.with = []func(*engine.Transaction){noop}
		t.Run(name, func(t *testing.T) { s.play(t) })
	}
}

// What earlier resources would change, later ones may find.
func TestNoopDoubtsStates(t *testing.T) {
	doubt := &resource.UnknownError{Reason: "is affected by x"}
	for name, s := range map[string]scenario{
		"a change may not be necessary": {
			given: func(m *machine) { m.fail["precheck read of a"] = doubt },
			items: [][]string{{"Thing/x", red}, {"Crate/a", red}, {"Thing/y", red, "require:Crate/a"}},
			want: []string{
				"Thing/x Noop", "  created (noop)", "Crate/a Noop", "  created (noop) (unknown: is affected by x)",
				"Thing/y Noop", "  created (noop) (unknown: comes after Crate/a)",
			},
		},
		"an obstacle is certain": { // to a check, which knows what is planned
			given: func(m *machine) { m.fail["precheck read of a"] = doubt; m.fail["precheck a"] = errBroken },
			items: [][]string{{"Thing/x", red}, {"Crate/a", red}},
			want:  []string{"Thing/x Noop", "  created (noop)", "Crate/a Failed", "  cannot be applied: broken"},
		},
		"what an earlier one may affect is certain if there is none": {
			given: func(m *machine) { m.fail["precheck read of a"] = doubt },
			items: [][]string{{"Crate/a", red}},
			want:  []string{"Crate/a Noop", "  created (noop)"},
		},
		"it depends on any that would be changed before": {
			given: func(m *machine) { m.fail["precheck read of a"] = &resource.ProvisionalError{Err: errBroken} },
			items: [][]string{{"Thing/x", red}, {"Crate/a", red, "require:Thing/x"}},
			want:  []string{"Thing/x Noop", "  created (noop)", "Crate/a Noop", "  created (noop) (unknown: comes after Thing/x)"},
		},
		"it depends on none that would be changed before": {
			given: func(m *machine) { m.fail["precheck read of a"] = &resource.ProvisionalError{Err: errBroken} },
			items: [][]string{{"Thing/x", red}, {"Crate/a", red}},
			want:  []string{"Thing/x Noop", "  created (noop)", "Crate/a Noop", "  created (noop)"},
		},
	} {
		s.with = []func(*engine.Transaction){noop}
		t.Run(name, func(t *testing.T) { s.play(t) })
	}
}

func TestAppliedResourcesAreNotPrechecked(t *testing.T) {
	m := newMachine()
	m.fail["precheck a"], m.fail["precheck read of b"] = errBroken, &resource.UnknownError{Reason: "runs a command"}
	m.things["b"] = redThing("b")
	result := transact(t, []resource.Item{m.item(t, "Thing/x", red, "noop"), m.item(t, "Crate/a", red), m.item(t, "Crate/b", red)})
	want := []string{"Thing/x Noop", "  created (noop)", "Crate/a Changed", "  created", "Crate/b InSync"}
	if diff := cmp.Diff(want, lines(result)); diff != "" || result.Counts.Unknown > 0 {
		t.Errorf("%d of unknown outcome; report (-want +got):\n%s", result.Counts.Unknown, diff)
	}
}

// An asking provider looks something up to predict what an apply would read.
type asking struct {
	batching
	asked *int
}

func (p asking) PrecheckRead(_ context.Context, h resource.Reader, _, _ thing) error {
	_, err := resource.Once(h, "list", func() (bool, error) { *p.asked++; return true, nil })
	return err
}

func TestPredictionsLookUpTheSameOnceUntilMoreIsPlanned(t *testing.T) {
	m, asked := newMachine(), 0
	kinds := map[string]resource.Kind{"Ask": bound.Kind(m.typ("Ask", []resource.Provider[thing]{asking{batching{plain{m, "hand"}}, &asked}}))}
	var items []resource.Item
	for _, ref := range []string{"Thing/x", "Ask/a", "Ask/b", "Thing/y", "Ask/c"} {
		item := m.itemOf(t, kinds, ref, red)
		if item.Ref.Kind == "Ask" {
			m.things[item.Ref.Name] = redThing(item.Ref.Name)
		}
		items = append(items, item)
	}
	transact(t, items, noop)
	if asked != 2 {
		t.Errorf("looked it up %d times, want 2", asked)
	}
}

// What foreign code may change is counted, too, although its report is that of a resource in sync.
func TestUnknownOutcomesAreCounted(t *testing.T) {
	m := newMachine()
	m.fail["precheck p"] = &resource.UnknownError{Reason: "runs a command"}
	m.things["y"], m.things["after-y"] = redThing("y"), redThing("after-y")
	r := transact(t, []resource.Item{
		m.item(t, "Crate/p", red), m.item(t, "Thing/x", red, "require:Crate/p"), m.item(t, "Thing/y", red, "require:Crate/p"), m.item(t, "Thing/z", red),
		m.item(t, "Thing/after-y", red, "require:Thing/y"),
	}, planning)
	if want := (report.Counts{Total: 5, InSync: 2, OutOfSync: 3, Noop: 3, Unknown: 4}); r.Counts != want {
		t.Errorf("got  %+v\nwant %+v", r.Counts, want)
	}
	if got := r.Resources[2].Unknown; got != "comes after Crate/p" {
		t.Errorf("Thing/y is unknown because %q", got)
	}
}

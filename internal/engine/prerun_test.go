package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// of returns an item of a type that the test defines.
func of(t *testing.T, typ *resource.Type[thing], name, attributes string) resource.Item {
	t.Helper()
	ref := resource.Ref{Kind: typ.Name, Name: name}
	r, err := bound.Kind(typ).Bind(ref, json.RawMessage(attributes))
	if err != nil {
		t.Fatal(err)
	}
	return resource.Item{Ref: ref, Resource: r}
}

// checking is a provider with a check before a run.
type checking struct {
	plain
	check func(names []string) []error
}

func (c checking) PreRunCheck(_ context.Context, h resource.Reader, wants []thing) []error {
	if _, writable := h.(host.Host); writable {
		return []error{errors.New("a check was given a host that it can change")}
	}
	var names []string
	for _, want := range wants {
		names = append(names, want.Name)
	}
	return c.check(names)
}

// trees is a type with a check before a run.
func (m *machine) trees(check func(names []string) []error) *resource.Type[thing] {
	typ := m.typ("Tree", []resource.Provider[thing]{checking{plain{m, "hand"}, check}})
	typ.PreRunCheck = true
	return typ
}

func TestFailedPreRunCheckPreventsTheRun(t *testing.T) {
	m := newMachine()
	typ := m.trees(func(names []string) []error {
		errs := make([]error, len(names))
		for i, name := range names {
			if name == "elm" || name == "fir" {
				errs[i] = &resource.ObjectionError{Err: errors.New("no tree is blue")}
			}
		}
		return errs
	})
	items := []resource.Item{
		m.item(t, "Thing/a", red), of(t, typ, "oak", red), of(t, typ, "elm", `{"color":"blue"}`), of(t, typ, "fir", `{"color":"blue"}`),
		m.item(t, "Thing/z", red, "require:Tree/fir"),
	}
	report := transact(t, items)
	want := []string{
		"Thing/a Skipped", "  the run was stopped before its turn: some checks before the run failed: Tree/elm, Tree/fir",
		"Tree/oak Skipped", "  the run was stopped before its turn: some checks before the run failed: Tree/elm, Tree/fir",
		"Tree/elm Failed", "  its check before the run failed: no tree is blue",
		"Tree/fir Failed", "  its check before the run failed: no tree is blue",
		"Thing/z Skipped", "  skipped because of failed dependencies: Tree/fir",
	}
	if diff := cmp.Diff(want, lines(report)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if message := "the run was stopped before its end: some checks before the run failed: Tree/elm, Tree/fir"; report.Status != "failed" || report.Message != message {
		t.Errorf("the run %s: %s", report.Status, report.Message)
	}
	if len(m.log) > 0 {
		t.Errorf("something was done: %q", m.log)
	}
	// What is not selected has no say.
	report = transact(t, items[:3], func(tx *engine.Transaction) {
		tx.Selected = func(i resource.Item) bool { return i.Ref.Name != "elm" }
	})
	if report.Counts.Changed != 2 {
		t.Errorf("without elm: %+v", report.Counts)
	}
	// What comes after it in the catalog has.
	report = transact(t, items, func(tx *engine.Transaction) {
		tx.Selected = func(i resource.Item) bool { return i.Ref.Name != "a" }
	})
	if report.Counts.Failed != 2 {
		t.Errorf("without a: %+v", report.Counts)
	}
}

func TestPreRunCheckThatFailsIsNoObjection(t *testing.T) {
	for name, tt := range map[string]struct {
		check func(names []string) []error
		want  []string
	}{
		"an error": {
			func([]string) []error { return []error{nil, errors.New("killed")} },
			[]string{"Tree/oak Changed", "  created", "Tree/elm Failed", "  its check before the run failed: killed", "Thing/a Changed", "  created"},
		},
		"a panic": {
			func([]string) []error { panic("a bug") },
			[]string{
				"Tree/oak Failed", "  its check before the run failed: the provider panicked (a bug in the provider): a bug",
				"Tree/elm Failed", "  its check before the run failed: the provider panicked (a bug in the provider): a bug", "Thing/a Changed", "  created",
			},
		},
		"too few results": {
			func([]string) []error { return nil },
			[]string{
				"Tree/oak Failed", "  its check before the run failed: provider hand returned 0 results for 2 resources (a bug in the provider)",
				"Tree/elm Failed", "  its check before the run failed: provider hand returned 0 results for 2 resources (a bug in the provider)", "Thing/a Changed", "  created",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			typ := m.trees(tt.check)
			report := transact(t, []resource.Item{of(t, typ, "oak", red), of(t, typ, "elm", red), m.item(t, "Thing/a", red)})
			if diff := cmp.Diff(tt.want, lines(report)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPreRunCheckThatTheEndOfTheRunInterruptsHasNotFailed(t *testing.T) {
	m := newMachine()
	ctx, stop := context.WithCancel(t.Context())
	typ := m.trees(func([]string) []error {
		stop()
		return []error{context.Canceled}
	})
	report, err := engine.Transaction{Host: zoned{}, Now: time.Now}.Run(ctx, []resource.Item{of(t, typ, "oak", red)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Tree/oak Skipped", "  the run was stopped before its turn"}, lines(report)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestPreRunCheckIsAskedOnceAboutAllThatHaveATurn(t *testing.T) {
	for name, with := range map[string][]func(*engine.Transaction){"in an apply": nil, "in noop": {noop}} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.suits["machine"] = errors.New("it is not here")
			var asked [][]string
			typ := m.trees(func(names []string) []error {
				if m.asked["robot"] > 0 || len(m.log) > 0 {
					t.Errorf("before the checks, the robot was asked %d times, and the run did %q", m.asked["robot"], m.log)
				}
				asked = append(asked, names)
				return make([]error, len(names))
			})
			typ.Providers = append(typ.Providers, checking{plain{m, "machine"}, nil})
			other := m.typ("Bush", []resource.Provider[thing]{plain{m, "robot"}})
			items := []resource.Item{
				of(t, other, "box", red), of(t, typ, "oak", red), of(t, typ, "elm", red), of(t, typ, "unselected", red), of(t, typ, "postponed", red),
				of(t, typ, "invalid", red), of(t, typ, "unsuitable", red), of(t, typ, "asleep", red), of(t, typ, "unsupported", `{"size":1}`),
			}
			items[4].Postponed, items[5].Invalid, items[6].Provider = errBroken, errBroken, "machine"
			items[7] = scheduled(items[7], night(t))
			selected := func(tx *engine.Transaction) {
				clock(zoned{}, "2024-05-01 12:00:00")(tx)
				tx.Selected = func(i resource.Item) bool { return i.Ref.Name != "unselected" }
			}
			transact(t, items, append(with, selected)...)
			if diff := cmp.Diff([][]string{{"oak", "elm"}}, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelfRefreshAfterChange(t *testing.T) {
	for name, test := range map[string]struct {
		given      func(*machine)
		attributes string
		with       []func(*engine.Transaction)
		did, want  []string
		due        int
	}{
		"that was made": {
			attributes: red, did: []string{"write a (ensure)", "refresh a"},
			want: []string{"Mount/a Changed", "  created", "  refreshed by 1 event"},
		},
		"once for all of its properties": {
			given: redA, attributes: `{"color":"blue","secret":"x"}`, did: []string{"write a (color secret)", "refresh a"},
			want: []string{"Mount/a Changed", "  color changed red to blue", "  changed secret", "  refreshed by 2 events"},
		},
		"and not when it is in sync": {given: redA, attributes: red, want: []string{"Mount/a InSync"}},
		"nor when it was removed": {
			given: redA, attributes: `{"ensure":"absent"}`, did: []string{"write a (ensure)"}, want: []string{"Mount/a Changed", "  removed"},
		},
		"nor when that needs no refresh": {
			attributes: `{"ensure":"running"}`, did: []string{"write a (ensure)"}, want: []string{"Mount/a Changed", "  created"},
		},
		"only for show in noop": {
			attributes: red, with: []func(*engine.Transaction){noop},
			want: []string{"Mount/a Noop", "  created (noop)", "  would have been refreshed by 1 event (noop) (unknown: runs its refresh)"},
		},
		"later when a part of the change failed": {
			given: func(m *machine) { redA(m); m.fail["color a"] = errBroken }, attributes: `{"color":"blue","secret":"x"}`,
			did: []string{"write a (color secret)"}, due: 1,
			want: []string{"Mount/a Failed", "  change of color from red to blue failed: broken", "  changed secret"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, store := newMachine(), newMemory()
			if test.given != nil {
				test.given(m)
			}
			typ := m.typ("Mount", []resource.Provider[thing]{plain{m, "hand"}})
			typ.SelfRefresh = true
			report := transact(t, []resource.Item{of(t, typ, "a", test.attributes)}, append(test.with, storing(store))...)
			if diff := cmp.Diff(test.want, lines(report)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.did, m.log); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
			if len(store.armed) != test.due {
				t.Errorf("due are %v", store.armed)
			}
		})
	}
}

func redA(m *machine) { m.things["a"] = redThing("a") }

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// drifts describes the resources of a report: the state, whether it is known to differ, and its drift.
func drifts(r report.Report) (all []string) {
	for _, res := range r.Resources {
		line := fmt.Sprintf("%s %s", res.Ref, res.State)
		if res.Differs {
			line += " differs"
		}
		for _, ev := range res.Events {
			if ev.Corrective {
				line += fmt.Sprintf(", %s %s", ev.Property, ev.Status)
			}
		}
		all = append(all, line)
	}
	return all
}

// Whatever keeps drift from being corrected, it is drift, and known to differ.
func TestDriftThatCannotBeCorrectedIsDrift(t *testing.T) {
	for name, test := range map[string]struct {
		prevent func(*machine)
		with    func(*engine.Transaction)
		want    []string
	}{
		"it is corrected": {want: []string{"Thing/a Changed, color success", "Thing/b InSync"}},
		"the write fails": {
			prevent: func(m *machine) { m.fail["write a"] = errBroken },
			want:    []string{"Thing/a Failed differs, color failure", "Thing/b Skipped"},
		},
		"one property cannot be written": {
			prevent: func(m *machine) { m.fail["color a"] = errBroken },
			want:    []string{"Thing/a Failed differs, color failure", "Thing/b Skipped"},
		},
		"the write has no effect": {
			prevent: func(m *machine) { m.forgets["a"] = true },
			want:    []string{"Thing/a Failed differs, color failure", "Thing/b Skipped"},
		},
		"its claim cannot be stored": {
			with: func(tx *engine.Transaction) { tx.Store.(*memory).full = errBroken; tx.OwnerUID = "o" },
			want: []string{"Thing/a Failed differs, color failure", "Thing/b Skipped"},
		},
		"it is only reported": {with: noop, want: []string{"Thing/a Noop differs, color noop", "Thing/b InSync"}},
		"it cannot be read":   {prevent: func(m *machine) { m.fail["read a"] = errBroken }, want: []string{"Thing/a Failed", "Thing/b Skipped"}},
		"what comes after it has drifted, too": {
			prevent: func(m *machine) { m.fail["write a"] = errBroken; m.things["b"] = green("b") },
			want:    []string{"Thing/a Failed differs, color failure", "Thing/b Skipped differs, color failure"},
		},
		"what comes after it cannot be read": {
			prevent: func(m *machine) { m.fail["write a"] = errBroken; m.fail["read b"] = errBroken },
			want:    []string{"Thing/a Failed differs, color failure", "Thing/b Skipped"},
		},
		"the run is to end": {
			prevent: func(m *machine) { m.things["b"] = green("b") },
			with:    func(tx *engine.Transaction) { tx.Selected = func(i resource.Item) bool { return i.Ref.Name == "a" } },
			want:    []string{"Thing/a Changed, color success", "Thing/b Skipped"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, store := newMachine(), newMemory()
			items := func() []resource.Item {
				a := m.item(t, "Thing/a", red)
				a.Deletion = resource.Delete
				return []resource.Item{a, m.item(t, "Thing/b", red, "require:Thing/a")}
			}
			transact(t, items(), storing(store))
			m.things["a"] = green("a")
			if test.prevent != nil {
				test.prevent(m)
			}
			with := []func(*engine.Transaction){storing(store)}
			if test.with != nil {
				with = append(with, test.with)
			}
			if diff := cmp.Diff(test.want, drifts(transact(t, items(), with...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if test.prevent == nil && test.with == nil {
				return
			}
			m.fail, m.forgets, store.full = map[string]error{}, map[string]bool{}, nil
			if got := drifts(transact(t, items(), storing(store))); test.with == nil && !strings.HasPrefix(got[0], "Thing/a Changed, color success") {
				t.Errorf("once it can be corrected: %q", got)
			}
		})
	}
}

func green(name string) thing { return thing{Name: name, Ensure: new("present"), Color: new("green")} }

// A provider may know before a write that it will fail. An audit does not replace the report of that.
func TestDriftThatAPlanCannotCorrectIsDrift(t *testing.T) {
	m, store := newMachine(), newMemory()
	items := func() []resource.Item { return []resource.Item{m.auditing(t, m.item(t, "Crate/a", red), "color")} }
	transact(t, items(), storing(store))
	m.things["a"] = green("a")
	m.fail["precheck a"] = errors.New("it is full")
	got := transact(t, items(), storing(store), noop)
	if diff := cmp.Diff([]string{"Crate/a Failed differs, color failure"}, drifts(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := []string{
		"Crate/a Failed", "  audit change: previously recorded value of color red has been changed to green", "  cannot be applied: it is full (corrective)",
	}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What was never managed has not drifted, so it is not read while something that it depends on has failed.
func TestAResourceThatWasNeverManagedIsNotReadWhileItIsHeldBack(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["b"] = green("b")
	m.fail["write a"] = errBroken
	m.fail["read b"] = errBug // a panic
	got := transact(t, []resource.Item{m.item(t, "Thing/a", red), m.item(t, "Thing/b", red, "require:Thing/a")}, storing(store))
	if diff := cmp.Diff([]string{"Thing/a Failed differs", "Thing/b Skipped"}, drifts(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package engine_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// orders are things that commands of an author read.
func (m *machine) orders() map[string]resource.Kind {
	typ := m.typ("Order", []resource.Provider[thing]{plain{m, "clerk"}})
	typ.Imperative = true
	return map[string]resource.Kind{"Order": bound.Kind(typ)}
}

// A resource that is skipped because of what it depends on is looked at if that is safe, and said to be out of sync only if it is.
func TestWhatIsSkippedIsLookedAtForDrift(t *testing.T) {
	for name, test := range map[string]struct {
		blocked     string // as the last run has it
		attributes  string
		drifted     bool
		prevent     func(*machine)
		say         string
		isOutOfSync bool
	}{
		"it has drifted":                                {blocked: "Crate/b", attributes: red, drifted: true, say: "Crate/b Skipped differs, color failure", isOutOfSync: true},
		"it is in sync":                                 {blocked: "Crate/b", attributes: red, say: "Crate/b Skipped"},
		"no provider can work any more":                 {blocked: "Crate/b", attributes: red, drifted: true, prevent: func(m *machine) { m.suits["truck"] = errBroken }, say: "Crate/b Skipped"},
		"its provider lacks a feature that is new":      {blocked: "Crate/b", attributes: `{"ensure":"present","color":"red","size":3}`, drifted: true, say: "Crate/b Skipped"},
		"an author's commands would have to look at it": {blocked: "Order/b", attributes: red, drifted: true, say: "Order/b Skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			m, store := newMachine(), newMemory()
			items := func(attributes string) []resource.Item {
				return []resource.Item{m.item(t, "Thing/a", red), m.itemOf(t, m.orders(), test.blocked, attributes, "require:Thing/a")}
			}
			transact(t, items(red), storing(store))
			m.things["a"], m.fail["write a"] = green("a"), errBroken
			if test.drifted {
				m.things["b"] = green("b")
			}
			if test.prevent != nil {
				test.prevent(m)
			}
			got := transact(t, items(test.attributes), storing(store))
			if diff := cmp.Diff(test.say, drifts(got)[1]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Resources[1].OutOfSync != test.isOutOfSync {
				t.Errorf("out of sync: %t", got.Resources[1].OutOfSync)
			}
		})
	}
}

// What left the catalog and is skipped is not looked at: that it is still there is no drift.
func TestSkippedDeletionIsNoDrift(t *testing.T) {
	m, store := newMachine(), newMemory()
	keep := holding(m.item(t, "Thing/b", red, "require:Thing/a"), resource.Delete)
	a := holding(m.item(t, "Thing/a", red), resource.Delete)
	play(t, m, store, chapter{items: []resource.Item{a, keep}})
	m.fail["write b"] = errBroken
	got := play(t, m, store, chapter{})
	want := []string{"Thing/b Failed change of ensure from present to absent failed: broken", "Thing/a Skipped skipped because of failed dependencies: Thing/b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Under its canonical name, an object keeps what an earlier version remembered under another.
func TestAllRecordsMoveToTheCanonicalName(t *testing.T) {
	m, store := newMachine(), newMemory()
	var deaf error
	tags := map[string]resource.Kind{"Tag": bound.Kind(m.tags(&deaf))}
	former, now := resource.Ref{Kind: "Tag", Name: "ANN"}, resource.Ref{Kind: "Tag", Name: "ann"}
	m.things["ann"] = redThing("ann")
	run := func() []string {
		return lines(transact(t, []resource.Item{m.auditing(t, m.itemOf(t, tags, "Tag/ANN", `{"color":"red"}`), "color")}, storing(store)))
	}
	run()
	store.observed[former], store.audited[former] = store.observed[now], store.audited[now]
	delete(store.observed, now)
	delete(store.audited, now)
	m.things["ann"] = thing{Name: "ann", Ensure: new("present"), Color: new("blue")}
	want := []string{
		"Tag/ANN Changed", "  audit change: previously recorded value of color red has been changed to blue", "  color changed blue to red (corrective)",
	}
	if diff := cmp.Diff(want, run()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"color": "red"}, maps.Clone(store.observed[now])); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

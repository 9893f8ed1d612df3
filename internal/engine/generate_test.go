package engine_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

func TestGeneratedResources(t *testing.T) {
	for name, s := range map[string]scenario{
		"run between their generator and its dependents, and notify the same resources": {
			given: func(m *machine) { m.nested = map[string][]string{"n": {"a", "b"}}; m.things["s"] = redThing("s") },
			items: [][]string{{"Nest/n", red, "notify:Thing/s"}, {"Thing/s", red}},
			did:   []string{"write n (ensure)", "write a (ensure)", "write b (ensure)", "refresh s"},
			want: []string{
				"Thing/a Changed", "  created", "Thing/b Changed", "  created", "Nest/n Changed", "  created",
				"Thing/s Refreshed", "  refreshed by 3 events",
			},
		},
		"that the catalog contains are not generated": {
			given: func(m *machine) { m.nested = map[string][]string{"n": {"a"}}; m.things["n"] = redThing("n") },
			items: [][]string{{"Nest/n", red}, {"Thing/a", `{"ensure":"present","color":"blue"}`}},
			did:   []string{"write a (ensure)"},
			want:  []string{"Nest/n InSync", "Thing/a Changed", "  created"},
		},
		"that fail block only the dependents": {
			given: func(m *machine) {
				m.nested = map[string][]string{"n": {"a", "b"}}
				m.things["n"] = redThing("n")
				m.fail["write a"] = errBroken
			},
			items: [][]string{{"Nest/n", red}, {"Thing/s", red, "require:Nest/n"}},
			did:   []string{"write a (ensure)", "write b (ensure)"},
			want: []string{
				"Thing/a Failed", "  change of ensure from absent to present failed: broken", "Thing/b Changed", "  created",
				"Nest/n InSync", "Thing/s Skipped", "  skipped because of failed dependencies: Nest/n",
			},
		},
		"are only reported if their generator is in noop": {
			given: func(m *machine) { m.nested = map[string][]string{"n": {"a"}}; m.things["n"] = redThing("n") },
			with:  []func(*engine.Transaction){noop},
			items: [][]string{{"Nest/n", red}},
			want:  []string{"Thing/a Noop", "  created (noop)", "Nest/n InSync"},
		},
		"are not generated if the generator failed": {
			given: func(m *machine) { m.nested = map[string][]string{"n": {"a"}}; m.fail["write n"] = errBroken },
			items: [][]string{{"Nest/n", red}},
			did:   []string{"write n (ensure)"},
			want:  []string{"Nest/n Failed", "  change of ensure from absent to present failed: broken"},
		},
		"that can't all be generated fail the generator": {
			given: func(m *machine) {
				m.nested = map[string][]string{"n": {"a"}}
				m.things["n"] = redThing("n")
				m.fail["generate n"] = errBroken
			},
			items: [][]string{{"Nest/n", red}},
			did:   []string{"write a (ensure)"},
			want:  []string{"Thing/a Changed", "  created", "Nest/n Failed", "  cannot generate its resources: broken"},
		},
	} {
		t.Run(name, func(t *testing.T) { s.play(t) })
	}
}

func TestGeneratedResourcesInheritNoop(t *testing.T) {
	for noop, want := range map[bool][]string{
		true:  {"Thing/a Noop", "  created (noop)", "Nest/n InSync"},
		false: {"Thing/a Changed", "  created", "Nest/n InSync"},
	} {
		m := newMachine()
		m.nested = map[string][]string{"n": {"a"}}
		m.things["n"] = redThing("n")
		nest := m.item(t, "Nest/n", red)
		nest.Noop = new(noop)
		opposite := func(tx *engine.Transaction) { tx.Noop = !noop }
		if diff := cmp.Diff(want, lines(transact(t, []resource.Item{nest}, opposite))); diff != "" {
			t.Errorf("noop %t (-want +got):\n%s", noop, diff)
		}
	}
}

func TestGeneratedResourcesInSyncAreOnlyCounted(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.nested = map[string][]string{"n": {"a", "b"}}
	m.things["b"] = redThing("b")
	run := func() report.Report {
		return transact(t, []resource.Item{m.item(t, "Nest/n", red)}, storing(store))
	}
	run()
	second := run()
	if want := (report.Counts{Total: 3, InSync: 3}); second.Counts != want || len(second.Resources) != 1 {
		t.Errorf("counts %+v, %d reports", second.Counts, len(second.Resources))
	}
	delete(m.things, "a")
	delete(m.things, "b")
	want := []string{"Thing/a Changed", "  created (corrective)", "Thing/b Changed", "  created", "Nest/n InSync"}
	if diff := cmp.Diff(want, lines(run())); diff != "" {
		t.Error(diff)
	}
}

func TestNotesOfGenerateAreReported(t *testing.T) {
	m := newMachine()
	m.nested = map[string][]string{"n": {"a"}}
	m.things["a"] = redThing("a")
	m.remarks = "many of them\n"
	run := func() report.ResourceReport {
		result := transact(t, []resource.Item{m.item(t, "Nest/n", red)})
		return result.Resources[len(result.Resources)-1]
	}
	want := []string{"Nest/n: output: many of them", "Nest/n: created"}
	if diff := cmp.Diff(want, run().Lines()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Nest/n: many of them"}, run().Lines()); diff != "" {
		t.Error(diff)
	}
}

func TestGeneratorLearnsOfWithheldResources(t *testing.T) {
	thing := resource.Withheld{Ref: resource.Ref{Kind: "Thing", Name: "t"}, Location: "/t", Why: "Conflict: of two"}
	crate := resource.Withheld{Ref: resource.Ref{Kind: "Crate", Name: "c"}}
	faulty := invalid("Thing/t")
	faulty.Location = "/f"
	for name, test := range map[string]struct {
		items    []resource.Item
		withheld []resource.Withheld
		want     []resource.Withheld
	}{
		"none":                         {items: []resource.Item{invalid("Crate/c")}},
		"one that is valid":            {items: []resource.Item{newMachine().item(t, "Thing/t", red)}},
		"one that is not in the items": {withheld: []resource.Withheld{crate, thing}, want: []resource.Withheld{thing}},
		"one that is faulty":           {items: []resource.Item{invalid("Crate/c"), faulty}, want: []resource.Withheld{{Ref: thing.Ref, Location: "/f", Why: "broken"}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			transact(t, append(test.items, m.item(t, "Nest/n", red)), func(tx *engine.Transaction) { tx.Withheld = test.withheld })
			if diff := cmp.Diff(test.want, m.withheld); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a waiting resource has changed itself is reported and passed on.
func TestAWaitingGeneratorIsSkipped(t *testing.T) {
	for name, test := range map[string]struct {
		given  func(*machine)
		noop   bool
		want   []string
		status string
	}{
		"once it has changed": {want: []string{"Nest/n Skipped", "  created", "  waits for another", "Thing/a Refreshed", "  refreshed by 1 event"}, status: "changed"},
		"in sync":             {given: func(m *machine) { m.things["n"] = redThing("n") }, want: []string{"Nest/n Skipped", "  waits for another", "Thing/a InSync"}, status: "unchanged"},
		"in noop":             {noop: true, want: []string{"Nest/n Skipped", "  created (noop)", "  waits for another", "Thing/a Noop", "  would have been refreshed by 1 event (noop) (unknown: runs its refresh)"}, status: "unchanged"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.things["a"] = redThing("a")
			m.fail["generate n"] = &resource.WaitError{Reason: "waits for another"}
			if test.given != nil {
				test.given(m)
			}
			n := m.item(t, "Nest/n", red)
			n.Notify = []resource.Ref{{Kind: "Thing", Name: "a"}}
			result := transact(t, []resource.Item{n, m.item(t, "Thing/a", red)}, func(tx *engine.Transaction) { tx.Noop = test.noop })
			if diff := cmp.Diff(test.want, lines(result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if result.Status != test.status || result.Counts.Skipped != 1 || result.Counts.Failed != 0 {
				t.Errorf("got %s, %+v", result.Status, result.Counts)
			}
		})
	}
}

func TestGeneratorReceivesCatalogNames(t *testing.T) {
	m := newMachine()
	m.nested = map[string][]string{"n": {}}
	transact(t, []resource.Item{m.item(t, "Nest/n", red), m.item(t, "Thing/s", red), m.item(t, "Thing/b", red)})
	if diff := cmp.Diff([]string{"b", "s"}, m.others); diff != "" {
		t.Error(diff)
	}
}

// Users can make any number of files in a directory, each of which is reported.
func TestReportsOfGeneratedResourcesAreBounded(t *testing.T) {
	const most = 50_000
	m := newMachine()
	names := make([]string, most+1)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	m.nested = map[string][]string{"n": names}
	m.things["n"], m.things["earlier"] = redThing("n"), redThing("earlier")
	for _, want := range []report.Counts{{Changed: most, Failed: 1}, {Changed: 1}} {
		result := transact(t, []resource.Item{m.item(t, "Thing/earlier", red), m.item(t, "Nest/n", red)})
		if result.Counts.Changed != want.Changed || result.Counts.Failed != want.Failed {
			t.Errorf("got %+v, want %+v", result.Counts, want)
		}
		last := lines(result)[len(lines(result))-1]
		if says := "more than 50000 of them are out of sync: the next run continues"; strings.Contains(last, says) != (want.Failed > 0) {
			t.Errorf("the last line is %s", last)
		}
	}
}

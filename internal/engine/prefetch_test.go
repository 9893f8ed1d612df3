package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
)

func TestPrefetch(t *testing.T) {
	given := func(names ...string) func(*machine) {
		return func(m *machine) {
			for _, n := range names {
				m.things[n] = redThing(n)
			}
		}
	}
	for name, c := range map[string]struct {
		scenario
		listed int
	}{
		"one resource that cannot be read fails alone": {listed: 1, scenario: scenario{
			given: func(m *machine) { given("a", "b", "c")(m); m.fail["read b"] = errBroken },
			items: [][]string{{"Crate/a", red}, {"Crate/b", red}, {"Crate/c", red}},
			want:  []string{"Crate/a InSync", "Crate/b Failed", "  cannot read the present state: broken", "Crate/c InSync"},
		}},
		"an unreadable resource is read again once a dependency has changed": {listed: 2, scenario: scenario{
			given: func(m *machine) {
				given("a", "b")(m)
				m.fail["read b"] = errBroken
				m.onWrite = func(string) { delete(m.fail, "read b") }
			},
			items: [][]string{{"Crate/a", red}, {"Crate/b", red, "require:Thing/x"}, {"Thing/x", red}},
			did:   []string{"write x (ensure)"},
			want:  []string{"Crate/a InSync", "Thing/x Changed", "  created", "Crate/b InSync"},
		}},
		"a resource that could not be read is read again after any change": {listed: 2, scenario: scenario{
			given: func(m *machine) {
				given("a", "b")(m)
				m.fail["read b"] = errBroken
				m.onWrite = func(string) { delete(m.fail, "read b") }
			},
			items: [][]string{{"Crate/a", red}, {"Thing/x", red}, {"Crate/b", red}},
			did:   []string{"write x (ensure)"},
			want:  []string{"Crate/a InSync", "Thing/x Changed", "  created", "Crate/b InSync"},
		}},
		"errors stay valid while nothing changes": {listed: 1, scenario: scenario{
			given: func(m *machine) { m.fail["list truck"] = errBroken },
			items: [][]string{{"Crate/a", red}, {"Crate/b", red}},
			want: []string{
				"Crate/a Failed", "  cannot read the present state: broken",
				"Crate/b Failed", "  cannot read the present state: broken",
			},
		}},
		"a state is read again after a change of any dependency, and at the end": {listed: 3, scenario: scenario{
			given: func(m *machine) {
				given("a", "b", "y")(m)
				m.onWrite = func(name string) {
					if name == "x" {
						m.things["b"] = thing{Name: "b", Ensure: new("present"), Color: new("green")}
					}
				}
			},
			items: [][]string{
				{"Crate/a", red}, {"Crate/b", `{"color":"red"}`, "require:Thing/y"}, {"Thing/y", red, "require:Thing/x"}, {"Thing/x", red},
			},
			did:  []string{"write x (ensure)", "write b (color)"},
			want: []string{"Crate/a InSync", "Thing/x Changed", "  created", "Thing/y InSync", "Crate/b Changed", "  color changed green to red"},
		}},
		"a state stays valid after changes of unrelated resources": {listed: 1, scenario: scenario{
			given: given("a", "b"),
			items: [][]string{{"Crate/a", red}, {"Thing/x", red}, {"Crate/b", red}},
			did:   []string{"write x (ensure)"},
			want:  []string{"Crate/a InSync", "Thing/x Changed", "  created", "Crate/b InSync"},
		}},
		"missing batch results fail the whole batch": {listed: 1, scenario: scenario{
			given: func(m *machine) { given("a", "b")(m); m.short = 1 },
			items: [][]string{{"Crate/a", red}, {"Crate/b", red}, {"Thing/c", red}},
			did:   []string{"write c (ensure)"},
			want: []string{
				"Crate/a Failed", "  cannot read the present state: provider truck returned 1 results for 2 resources (a bug in the provider)",
				"Crate/b Failed", "  cannot read the present state: provider truck returned 1 results for 2 resources (a bug in the provider)",
				"Thing/c Changed", "  created",
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.play(t)
			if m.listed != c.listed {
				t.Errorf("everything was read %d times, not %d", m.listed, c.listed)
			}
		})
	}
}

func TestBatchWriteWithMissingResultsFails(t *testing.T) {
	m := newMachine()
	m.short = 1
	want := []string{
		"Leaf/a Failed", "  change of ensure from absent to present failed: provider hand returned 0 results for 1 resources (a bug in the provider)",
	}
	if diff := cmp.Diff(want, lines(transact(t, []resource.Item{m.leaf(t, "a")}))); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestBatchMessagesAreReportedPerResource(t *testing.T) {
	m := newMachine()
	m.notes = map[string]string{"b": "brings c along\n"}
	items := func() []resource.Item { return []resource.Item{m.item(t, "Crate/a", red), m.item(t, "Crate/b", red)} }
	want := []string{"Crate/a Noop", "  created (noop)", "Crate/b Noop", "  output: brings c along", "  created (noop)"}
	if diff := cmp.Diff(want, lines(transact(t, items(), noop))); diff != "" {
		t.Errorf("a run that only reports (-want +got):\n%s", diff)
	}
	want = []string{"Crate/a Changed", "  created", "Crate/b Changed", "  output: brings c along", "  created"}
	if diff := cmp.Diff(want, lines(transact(t, items()))); diff != "" {
		t.Errorf("a run that applies (-want +got):\n%s", diff)
	}
}

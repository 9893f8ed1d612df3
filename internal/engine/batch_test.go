package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// together writes in batches and reads one by one, like File.
type together struct{ plain }

func (p together) WriteAll(ctx context.Context, h resource.Writer, writes []resource.Write[thing]) []error {
	return batching(p).WriteAll(ctx, h, writes)
}

// leaf returns an item that is written in batches of three.
func (m *machine) leaf(t *testing.T, name string, with ...func(*resource.Item)) resource.Item {
	t.Helper()
	typ := m.typ("Leaf", []resource.Provider[thing]{together{plain{m, "hand"}}})
	typ.BatchLimit, typ.ReadAhead = 3, true
	item := resource.Item{Ref: resource.Ref{Kind: "Leaf", Name: name}}
	var err error
	if item.Resource, err = bound.Kind(typ).Bind(item.Ref, json.RawMessage(red)); err != nil {
		t.Fatal(err)
	}
	for _, f := range with {
		f(&item)
	}
	return item
}

func after(ref string) func(*resource.Item) {
	return func(i *resource.Item) {
		if r, err := resource.ParseRef(ref); err == nil {
			i.Require = append(i.Require, r)
		}
	}
}

func notifies(ref string) func(*resource.Item) {
	return func(i *resource.Item) {
		if r, err := resource.ParseRef(ref); err == nil {
			i.Notify = append(i.Notify, r)
		}
	}
}

// A batch has the same results as single writes, in the same order.
func TestBatch(t *testing.T) {
	const created = "  created"
	for sentence, c := range map[string]struct {
		given func(*machine)
		items func(*testing.T, *machine) []resource.Item
		log   []string
		want  []string // nil where the log says it all
	}{
		"is limited in size and ends before another kind": {
			items: func(t *testing.T, m *machine) []resource.Item {
				return []resource.Item{
					m.leaf(t, "a"), m.leaf(t, "b"), m.leaf(t, "c"), m.leaf(t, "d"), m.item(t, "Thing/x", red), m.leaf(t, "e"), m.leaf(t, "f"),
				}
			},
			log: []string{"write together a b c", "write together d", "write x (ensure)", "write together e f"},
		},
		"ends if it makes another resource ready that comes first": {
			items: func(t *testing.T, m *machine) []resource.Item {
				return []resource.Item{
					m.leaf(t, "a"), m.leaf(t, "b"), m.item(t, "Thing/x", red, "require:Leaf/a", "require:Leaf/b"), m.leaf(t, "c"), m.leaf(t, "d"),
				}
			},
			log: []string{"write together a b", "write x (ensure)", "write together c d"},
		},
		"continues if the dependents come later": {
			items: func(t *testing.T, m *machine) []resource.Item {
				return []resource.Item{m.leaf(t, "a"), m.leaf(t, "b"), m.leaf(t, "c", after("Leaf/a"))}
			},
			log: []string{"write together a b", "write together c"},
		},
		"excludes resources in noop": {
			items: func(t *testing.T, m *machine) []resource.Item {
				return []resource.Item{m.leaf(t, "a"), m.leaf(t, "b", func(i *resource.Item) { i.Noop = new(true) }), m.leaf(t, "c")}
			},
			log:  []string{"write together a c"},
			want: []string{"Leaf/a Changed", created, "Leaf/b Noop", "  created (noop)", "Leaf/c Changed", created},
		},
		"excludes resources in sync, and unreadable ones fail alone": {
			given: func(m *machine) { m.things["b"] = redThing("b"); m.fail["read c"] = errBroken },
			items: func(t *testing.T, m *machine) []resource.Item {
				return []resource.Item{m.leaf(t, "a"), m.leaf(t, "b"), m.leaf(t, "c"), m.leaf(t, "d")}
			},
			log:  []string{"write together a", "write together d"},
			want: []string{"Leaf/a Changed", created, "Leaf/b InSync", "Leaf/c Failed", "  cannot read the present state: broken", "Leaf/d Changed", created},
		},
		"excludes an unscheduled resource": {
			items: func(t *testing.T, m *machine) []resource.Item {
				return []resource.Item{m.leaf(t, "a"), scheduled(m.leaf(t, "b"), schedule.Schedule{Period: schedule.Never}), m.leaf(t, "c")}
			},
			log:  []string{"write together a", "write together c"},
			want: []string{"Leaf/a Changed", created, "Leaf/b Skipped", "  not scheduled: the period of its schedule is never", "Leaf/c Changed", created},
		},
		"an ineffective change fails alone": {
			given: func(m *machine) { m.forgets["b"] = true },
			items: func(t *testing.T, m *machine) []resource.Item {
				return []resource.Item{m.leaf(t, "a"), m.leaf(t, "b"), m.leaf(t, "c", after("Leaf/b")), m.item(t, "Thing/x", red)}
			},
			log: []string{"write together a b", "write x (ensure)"},
			want: []string{
				"Leaf/a Changed", created, "Leaf/b Failed", "  the change did not take effect: ensure is absent, should be present",
				"Leaf/c Skipped", "  skipped because of failed dependencies: Leaf/b", "Thing/x Changed", created,
			},
		},
		"a failed verification does not affect the next resource": {
			given: func(m *machine) {
				m.forgets["b"] = true
				m.onWrite = func(string) { m.fail["read a"] = errBroken }
			},
			items: func(t *testing.T, m *machine) []resource.Item {
				return []resource.Item{m.leaf(t, "a"), m.leaf(t, "b")}
			},
			log: []string{"write together a b"},
			want: []string{
				"Leaf/a Failed", "  cannot verify the change: cannot read the present state: broken",
				"Leaf/b Failed", "  the change did not take effect: ensure is absent, should be present",
			},
		},
		"reports audits besides changes": {
			items: func(t *testing.T, m *machine) []resource.Item {
				return []resource.Item{m.leaf(t, "a"), m.auditing(t, m.leaf(t, "b"), "color")}
			},
			log:  []string{"write together a b"},
			want: []string{"Leaf/a Changed", created, "Leaf/b Changed", "  audit change: newly-recorded value of color is absent", created},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			m := newMachine()
			if c.given != nil {
				c.given(m)
			}
			got := lines(transact(t, c.items(t, m), storing(newMemory()), clock(zoned{}, "2026-01-05 12:00:00")))
			if diff := cmp.Diff(c.log, m.log); diff != "" {
				t.Errorf("what was done (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, got); c.want != nil && diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBatchRefreshesAreStoredBeforeWriting(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["x"] = redThing("x")
	m.fail["write b"] = errBroken
	x := resource.Ref{Kind: "Thing", Name: "x"}
	noted := true
	m.onWrite = func(string) { noted = noted && store.armed[x] > 0 }
	run := func() report.Report {
		to := notifies(x.String())
		return transact(t, []resource.Item{m.leaf(t, "a", to), m.leaf(t, "b", to), m.leaf(t, "c", to), m.item(t, "Thing/x", red)}, storing(store))
	}
	run()
	if diff := cmp.Diff([]string{"write together a b c"}, m.log); diff != "" || !noted || store.armed[x] == 0 {
		t.Errorf("noted before: %v, still due: %v, done: %s", noted, store.armed, diff)
	}
	clear(m.fail)
	result := run()
	if diff := cmp.Diff([]string{"write together a b c", "write together b", "refresh x"}, m.log); diff != "" || store.armed[x] != 0 || result.Counts.Refreshed != 1 {
		t.Errorf("still due: %v, %+v, done: %s", store.armed, result.Counts, diff)
	}
}

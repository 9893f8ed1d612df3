package engine_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// A twinning provider generates the twins listed in its machine, as name=color or name=absent.
type twinning struct {
	plain
	twins *resource.Type[thing]
	count map[string]int // how often each generated
}

func (p twinning) Generate(_ context.Context, _ resource.Reader, want thing, _ resource.Inventory) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		p.count[want.Name]++
		if err := p.m.fail["generate "+want.Name]; err != nil {
			yield(nil, err)
			return
		}
		for _, twin := range p.m.nested[want.Name] {
			name, color, _ := strings.Cut(twin, "=")
			child := thing{Name: name, Ensure: new("present"), Color: &color}
			if color == resource.Absent {
				child = thing{Name: name, Ensure: &color}
			}
			if !yield(bound.New(p.twins, resource.Ref{Kind: "Twin", Name: name}, child)) {
				return
			}
		}
	}
}

// Pairs generate Twins, and changes of Crates have side effects. Twins a, b and c have the same identity, d has another, and x, y and z have
// none.
func TestGeneratedResourcesManagedOrUndoneByOthers(t *testing.T) {
	const apart = ": keep the two apart, as by ignore"
	for name, c := range map[string]struct {
		brings map[string][]string
		given  func(*machine)
		write  func(m *machine, name string) // changes other resources in a write
		items  [][]string
		did    []string
		want   []string
	}{
		"a thing under another name in the catalog is not deleted": {
			brings: map[string][]string{"p": {"b=blue", "x=red"}},
			items:  [][]string{{"Twin/a", red}, {"Pair/p", red}},
			did:    []string{"write a (ensure)", "write x (ensure)"},
			want:   []string{"Twin/a Changed", "  created", "Twin/x Changed", "  created", "Pair/p InSync"},
		},
		"a thing under another name later in the catalog is not deleted": {
			brings: map[string][]string{"p": {"b=blue"}},
			items:  [][]string{{"Pair/p", red}, {"Twin/a", red}},
			did:    []string{"write a (ensure)"},
			want:   []string{"Pair/p InSync", "Twin/a Changed", "  created"},
		},
		"two that generate the same thing with different values fail": {
			brings: map[string][]string{"p": {"x=red", "a=red"}, "q": {"b=blue"}},
			write: func(m *machine, name string) {
				if name == "b" {
					m.things["a"] = colored("blue")
				}
			},
			items: [][]string{{"Pair/p", red}, {"Pair/q", red}},
			did:   []string{"write x (ensure)", "write a (ensure)", "write b (ensure)"},
			want: []string{
				"Twin/x Changed", "  created", "Twin/a Changed", "  created",
				"Pair/p Failed", "  Twin/a of this resource was undone in the same run, by Pair/q: color is blue, should be red" + apart,
				"Twin/b Changed", "  created", "Pair/q Failed", "  undid in the same run Twin/a of Pair/p" + apart,
			},
		},
		"generated resources without an identity are not checked again": {
			brings: map[string][]string{"p": {"x=red"}, "q": {"y=blue"}},
			write: func(m *machine, name string) {
				if name == "y" {
					m.things["x"] = colored("blue")
				}
			},
			items: [][]string{{"Pair/p", red}, {"Pair/q", red}},
			did:   []string{"write x (ensure)", "write y (ensure)"},
			want:  []string{"Twin/x Changed", "  created", "Pair/p InSync", "Twin/y Changed", "  created", "Pair/q InSync"},
		},
		"a generated resource that a later side effect undoes fails its generator": {
			brings: map[string][]string{"p": {"x=red", "a=red"}},
			write: func(m *machine, name string) {
				if name == "c" {
					delete(m.things, "a")
				}
			},
			items: [][]string{{"Pair/p", red}, {"Crate/c", red, "require:Pair/p"}},
			did:   []string{"write x (ensure)", "write a (ensure)", "write together c"},
			want: []string{
				"Twin/x Changed", "  created", "Twin/a Changed", "  created",
				"Pair/p Failed", "  Twin/a of this resource was undone in the same run, by Crate/c: ensure is absent, should be present",
				"Crate/c Changed", "  created",
			},
		},
		"a side effect before the generator undoes nothing": {
			brings: map[string][]string{"p": {"a=red"}},
			write: func(m *machine, name string) {
				if name == "z" {
					delete(m.things, "a")
				}
			},
			items: [][]string{{"Crate/c", red}, {"Pair/p", red, "require:Crate/c"}, {"Thing/z", red, "require:Pair/p"}},
			did:   []string{"write together c", "write a (ensure)", "write z (ensure)"},
			want: []string{
				"Crate/c Changed", "  created", "Twin/a Changed", "  created", "Pair/p InSync", "Thing/z Changed", "  created",
			},
		},
		"a side effect before a generator in sync undoes nothing": {
			brings: map[string][]string{"p": {"x=red"}},
			given:  func(m *machine) { m.things["x"] = redThing("x") },
			write: func(m *machine, name string) {
				if name == "z" {
					delete(m.things, "x")
				}
			},
			items: [][]string{{"Crate/c", red}, {"Pair/p", red, "require:Crate/c"}, {"Thing/z", red, "require:Pair/p"}},
			did:   []string{"write together c", "write z (ensure)"},
			want:  []string{"Crate/c Changed", "  created", "Pair/p InSync", "Thing/z Changed", "  created"},
		},
		"a generated resource without an identity is not undone by those with one": {
			brings: map[string][]string{"p": {"x=red"}, "q": {"b=blue"}},
			write: func(m *machine, name string) {
				if name == "b" {
					m.things["x"] = colored("blue")
				}
			},
			items: [][]string{{"Pair/p", red}, {"Pair/q", red}},
			did:   []string{"write x (ensure)", "write b (ensure)"},
			want:  []string{"Twin/x Changed", "  created", "Pair/p InSync", "Twin/b Changed", "  created", "Pair/q InSync"},
		},
		"resources that can't be identified are applied": {
			brings: map[string][]string{"p": {"x=red"}},
			given:  func(m *machine) { m.short = 1 },
			items:  [][]string{{"Pair/p", red}},
			did:    []string{"write x (ensure)"},
			want:   []string{"Twin/x Changed", "  created", "Pair/p InSync"},
		},
		"something new to remove is not reported as undone": {
			brings: map[string][]string{"p": {"x=absent"}},
			given:  func(m *machine) { m.things["x"] = redThing("x") },
			write: func(m *machine, name string) {
				if name == "c" {
					m.things["x"] = redThing("x")
				}
			},
			items: [][]string{{"Pair/p", red}, {"Crate/c", red, "require:Pair/p"}},
			did:   []string{"write x (ensure)", "write together c"},
			want:  []string{"Twin/x Changed", "  removed", "Pair/p InSync", "Crate/c Changed", "  created"},
		},
		"a generator in noop is not checked again": {
			brings: map[string][]string{"p": {"x=red"}},
			items:  [][]string{{"Pair/p", red, "noop"}, {"Crate/c", red, "require:Pair/p"}},
			did:    []string{"write together c"},
			want:   []string{"Twin/x Noop", "  created (noop)", "Pair/p InSync", "Crate/c Changed", "  created"},
		},
		"a generator with a failed resource is not checked again": {
			brings: map[string][]string{"p": {"x=red", "y=red"}},
			given:  func(m *machine) { m.fail["write x"] = errBroken },
			write: func(m *machine, name string) {
				if name == "c" {
					delete(m.things, "y")
				}
			},
			items: [][]string{{"Pair/p", red}, {"Crate/c", red}},
			did:   []string{"write x (ensure)", "write y (ensure)", "write together c"},
			want: []string{
				"Twin/x Failed", "  change of ensure from absent to present failed: broken", "Twin/y Changed", "  created",
				"Pair/p InSync", "Crate/c Changed", "  created",
			},
		},
		"a generator that fails the second time keeps its result": {
			brings: map[string][]string{"p": {"x=red"}},
			write: func(m *machine, name string) {
				if name == "c" {
					m.fail["generate p"] = errBroken
				}
			},
			items: [][]string{{"Pair/p", red}, {"Crate/c", red, "require:Pair/p"}},
			did:   []string{"write x (ensure)", "write together c"},
			want:  []string{"Twin/x Changed", "  created", "Pair/p InSync", "Crate/c Changed", "  created"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.nested = c.brings
			for _, pair := range []string{"p", "q"} {
				m.things[pair] = redThing(pair)
			}
			if c.given != nil {
				c.given(m)
			}
			if c.write != nil {
				m.onWrite = func(name string) { c.write(m, name) }
			}
			items, _, _ := paired(t, m, c.items)
			report := transact(t, items)
			if diff := cmp.Diff(c.want, lines(report)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.did, m.log); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
		})
	}
}

// paired are items of Pairs, Twins and a machine's kinds, how often each Pair generated, and how often Twins were identified.
func paired(t *testing.T, m *machine, all [][]string) (items []resource.Item, generated map[string]int, identified *int) {
	t.Helper()
	generated, identified = map[string]int{}, new(int)
	alias := map[string]string{"a": "1", "b": "1", "c": "1", "d": "2"}
	twins := m.typ("Twin", []resource.Provider[thing]{telling{plain{m, "hand"}, alias, identified}})
	pairs := m.typ("Pair", []resource.Provider[thing]{twinning{plain{m, "bird"}, twins, generated}})
	for _, i := range all {
		items = append(items, m.itemOf(t, map[string]resource.Kind{"Twin": bound.Kind(twins), "Pair": bound.Kind(pairs)}, i[0], i[1], i[2:]...))
	}
	return items, generated, identified
}

func TestResourcesGenerateAgainOnlyAfterPossibleInterference(t *testing.T) {
	for name, c := range map[string]struct {
		brings map[string][]string
		want   map[string]int
	}{
		"nothing changed":                  {map[string][]string{"p": {"y=red"}, "q": {"z=red"}}, map[string]int{"p": 1, "q": 1}},
		"only its own changed":             {map[string][]string{"p": {"a=red"}}, map[string]int{"p": 1}},
		"another one's changed before":     {map[string][]string{"p": {"a=red"}, "q": {"z=red"}}, map[string]int{"p": 1, "q": 1}},
		"another one's changed afterwards": {map[string][]string{"p": {"y=red"}, "q": {"d=red"}}, map[string]int{"p": 2, "q": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.nested = c.brings
			for _, name := range []string{"p", "q", "y", "z"} {
				m.things[name] = redThing(name)
			}
			var pairs [][]string
			for _, name := range slices.Sorted(maps.Keys(c.brings)) {
				pairs = append(pairs, []string{"Pair/" + name, red})
			}
			items, generated, _ := paired(t, m, pairs)
			transact(t, items)
			if diff := cmp.Diff(c.want, generated); diff != "" {
				t.Errorf("generated (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGeneratedResourcesInSyncAreNotIdentified(t *testing.T) {
	m := newMachine()
	m.nested = map[string][]string{"p": {"a=red", "d=red"}}
	for _, name := range []string{"p", "a", "d"} {
		m.things[name] = redThing(name)
	}
	items, _, identified := paired(t, m, [][]string{{"Pair/p", red}})
	transact(t, items)
	if *identified != 0 {
		t.Errorf("identified %d times, want 0", *identified)
	}
}

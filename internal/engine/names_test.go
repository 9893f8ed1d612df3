package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// A lowering provider keeps names in lower case, and only it knows.
type lowering struct {
	plain
	deaf *error // why it cannot tell
}

func (p lowering) Read(ctx context.Context, h resource.Reader, want thing) (thing, error) {
	if err := *p.deaf; err != nil {
		return thing{}, err
	}
	name := strings.ToLower(want.Name)
	is, err := p.plain.Read(ctx, h, thing{Name: name})
	is.canonical = name
	return is, err
}

func (p lowering) Write(ctx context.Context, h resource.Writer, is, want thing, changes []resource.Change) error {
	want.Name = strings.ToLower(want.Name)
	return p.plain.Write(ctx, h, is, want, changes)
}

// tags is a type whose names are told by its provider.
func (m *machine) tags(deaf *error) *resource.Type[thing] {
	typ := m.typ("Tag", []resource.Provider[thing]{lowering{plain{m, "hand"}, deaf}})
	typ.CanonicalNames = true
	typ.CanonicalName = func(want, is thing) (string, bool) {
		if is.canonical != "" {
			return is.canonical, true
		}
		return want.Name, false
	}
	return typ
}

func TestRecordsAreOfTheCanonicalName(t *testing.T) {
	const red = `{"ensure":"present","color":"red"}`
	errDeaf := errors.New("deaf")
	for name, c := range map[string]struct {
		given func(m *machine, store *memory) // before the last run
		deaf  error                           // in the last run
		items [][]string                      // of each run, as a name and attributes
		owned resource.DeletionPolicy
		said  []string
		there string
		keys  []string // of claims
	}{
		"another spelling is no deletion": {
			items: [][]string{{"ANN", red}, {"ann", red}}, owned: resource.Delete,
			said: []string{"Tag/ann InSync"}, there: "ann=red", keys: []string{"ann"},
		},
		"what left is removed": {
			items: [][]string{{"ANN", red}, {"bob", red}}, owned: resource.Delete,
			said: []string{"Tag/bob Changed", "Tag/ANN Changed"}, there: "bob=red", keys: []string{"bob"},
		},
		"nothing is removed while a name is unknown": {
			items: [][]string{{"ANN", red}, {"Ann", red}}, owned: resource.Delete, deaf: errDeaf,
			said: []string{
				"Tag/Ann Failed cannot read the present state: deaf",
				"Tag/ANN Skipped its resource is gone, but Tag/Ann may manage the same thing, which is unknown until its provider tells its canonical name",
			},
			there: "ann=red", keys: []string{"ann"},
		},
		"a claim of an earlier version is found": {
			given: func(_ *machine, store *memory) { store.rename("ann", "ANN") },
			items: [][]string{{"ANN", red}, {"Ann", red}}, owned: resource.Delete,
			said: []string{"Tag/Ann InSync"}, there: "ann=red", keys: []string{"ann"},
		},
		"a claim of an earlier version removes what left": {
			given: func(_ *machine, store *memory) { store.rename("ann", "ANN") },
			items: [][]string{{"ANN", red}, nil}, owned: resource.Delete,
			said: []string{"Tag/ANN Changed"},
		},
		"what an earlier version saved is restored": {
			given: func(_ *machine, store *memory) { store.rename("ann", "ANN") },
			items: [][]string{{"ANN", red}, {"ANN", red}, nil}, owned: resource.Restore,
			said: []string{"Tag/ANN Changed"},
		},
		"drift is drift under another spelling": {
			given: func(m *machine, _ *memory) { m.things["ann"] = colored("green") },
			items: [][]string{{"ANN", red}, {"ann", red}},
			said:  []string{"Tag/ann Changed"}, there: "ann=red",
		},
		"drift is drift after an upgrade": {
			given: func(m *machine, store *memory) {
				store.rename("ann", "ANN")
				m.things["ann"] = colored("green")
			},
			items: [][]string{{"ANN", red}, {"ANN", red}},
			said:  []string{"Tag/ANN Changed"}, there: "ann=red",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, store := newMachine(), newMemory()
			var deaf error
			typ := m.tags(&deaf)
			kind := bound.Kind(typ)
			var said []string
			for n, attributes := range c.items {
				var items []resource.Item
				if attributes != nil {
					items = append(items, holding(m.itemOf(t, map[string]resource.Kind{"Tag": kind}, "Tag/"+attributes[0], attributes[1]), c.owned))
				}
				if n == 1 && c.given != nil {
					c.given(m, store)
				}
				if n == len(c.items)-1 {
					deaf = c.deaf
				}
				said = nil
				result := transact(t, items, storing(store), func(tx *engine.Transaction) { tx.OwnerUID, tx.Kinds = "uid", []resource.Kind{kind} })
				for _, r := range result.Resources {
					said = append(said, strings.TrimSpace(r.Ref.String()+" "+string(r.State)+" "+r.Message))
					for _, e := range r.Events {
						if n == len(c.items)-1 && strings.HasPrefix(name, "drift") && !e.Corrective {
							t.Errorf("%s is not corrective", e.Message)
						}
					}
				}
			}
			if diff := cmp.Diff(c.said, said); diff != "" {
				t.Errorf("the last report (-want +got):\n%s", diff)
			}
			if got := m.there(); got != c.there {
				t.Errorf("there is %q, want %q", got, c.there)
			}
			var keys []string
			for key := range store.claims {
				keys = append(keys, key.Name)
			}
			if diff := cmp.Diff(c.keys, slices.Sorted(slices.Values(keys))); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

// rename gives what is remembered of a thing the name by which an earlier version knew it.
func (m *memory) rename(from, to string) {
	old, former := resource.Ref{Kind: "Tag", Name: from}, resource.Ref{Kind: "Tag", Name: to}
	m.observed[former] = m.observed[old]
	delete(m.observed, old)
	if c, ok := m.claims[old]; ok {
		delete(m.claims, old)
		c.Namevar = to
		m.claims[former] = c
	}
}

// What left the catalog under one name and is in it under another, which only its provider can tell, is not removed.
func TestADeletionSparesWhatAnotherResourceManagesUnderAnAlias(t *testing.T) {
	for name, policy := range map[string]resource.DeletionPolicy{"Delete": resource.Delete, "Restore": resource.Restore} {
		t.Run(name, func(t *testing.T) {
			m, store, asked := newMachine(), newMemory(), 0
			typ := m.typ("Twin", []resource.Provider[thing]{telling{plain{m, "hand"}, map[string]string{"a": "1", "b": "1"}, &asked}})
			kind := bound.Kind(typ)
			gone, err := json.Marshal(thing{Name: "a", Ensure: new("absent")})
			if err != nil {
				t.Fatal(err)
			}
			m.things["a"], m.things["b"] = redThing("a"), redThing("b")
			store.SetClaim(claim.Claim{
				Kind: "Twin", Namevar: "a", OwnerUID: "uid", Ref: resource.Ref{Kind: "Twin", Name: "a"}, Deletion: policy, Delete: gone,
				Restore: map[string]json.RawMessage{"color": json.RawMessage(`"blue"`)},
			})
			items := []resource.Item{holding(of(t, typ, "b", `{"ensure":"present","color":"red"}`), policy)}
			for range 2 {
				m.log = nil
				result := transact(t, items, storing(store), func(tx *engine.Transaction) { tx.OwnerUID, tx.Kinds = "uid", []resource.Kind{kind} })
				if len(m.log) > 0 || result.Counts.Failed > 0 {
					t.Errorf("did %q, report %q", m.log, lines(result))
				}
			}
			if got := slices.Collect(maps.Keys(store.claims)); len(got) != 1 || got[0].Name != "b" {
				t.Fatalf("claims: %v", got)
			}
			if got := string(store.claims[resource.Ref{Kind: "Twin", Name: "b"}].Restore["color"]); got != `"blue"` {
				t.Errorf("the color before is %s", got)
			}
		})
	}
}

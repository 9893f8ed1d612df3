package engine_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// A chapter is one run of what happens to things: what someone does by hand before it, and
// what the catalog has.
type chapter struct {
	byHand func(m *machine)
	items  []resource.Item
	tx     func(*engine.Transaction)
}

// holding returns an item with a deletion policy.
func holding(item resource.Item, d resource.DeletionPolicy) resource.Item {
	item.Deletion = d
	return item
}

// play runs chapters and returns the report lines of the last one.
func play(t *testing.T, m *machine, store *memory, chapters ...chapter) []string {
	t.Helper()
	var said []string
	for _, c := range chapters {
		if c.byHand != nil {
			c.byHand(m)
		}
		m.log, said = nil, nil
		report := transact(t, c.items, storing(store), func(tx *engine.Transaction) {
			tx.OwnerUID, tx.Kinds = "uid", slices.Collect(maps.Values(m.kinds()))
			if c.tx != nil {
				c.tx(tx)
			}
		})
		for _, r := range report.Resources {
			said = append(said, strings.TrimSpace(r.Ref.String()+" "+string(r.State)+" "+r.Message))
		}
	}
	return said
}

// there lists the existing things with their colors.
func (m *machine) there() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m.things)) {
		if c := m.things[name].Color; c != nil {
			name += "=" + *c
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func TestDeletionPolicyAppliesWhenTheResourceIsGone(t *testing.T) {
	const red, blue = `{"ensure":"present","color":"red"}`, `{"ensure":"present","color":"blue"}`
	green := func(name string) func(m *machine) {
		return func(m *machine) { m.things[name] = thing{Name: name, Ensure: new("present"), Color: new("green")} }
	}
	type story struct {
		start    string // things that are there, green
		chapters func(t *testing.T, m *machine) []chapter
		said     string // of the last chapter
		there    string
		claims   int // that are left
	}
	items := func(all ...resource.Item) chapter { return chapter{items: all} }
	for name, s := range map[string]story{
		"Orphan leaves it": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{items(m.item(t, "Thing/a", red)), {}}
			},
			there: "a=red",
		},
		"Delete removes it": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Delete)), {}}
			},
			said: "Thing/a Changed",
		},
		"Delete removes things in reverse catalog order": {
			chapters: func(t *testing.T, m *machine) []chapter {
				stays := holding(m.item(t, "Thing/x", red), resource.Delete)
				return []chapter{items(
					stays, holding(m.item(t, "Thing/a", red), resource.Delete),
					holding(m.item(t, "Thing/b", red, "require:Thing/x"), resource.Delete), holding(m.item(t, "Thing/c", red), resource.Delete),
				), items(stays)}
			},
			said: "Thing/x InSync, Thing/c Changed, Thing/b Changed, Thing/a Changed", there: "x=red", claims: 1,
		},
		"Delete removes a thing that already existed in sync": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{items(holding(m.item(t, "Thing/a", `{"ensure":"present","color":"green"}`), resource.Delete)), {}}
			},
			said: "Thing/a Changed",
		},
		"Restore removes a thing that it created": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Restore)), {}}
			},
			said: "Thing/a Changed",
		},
		"Restore restores changed properties": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Restore)), {}}
			},
			said: "Thing/a Changed", there: "a=green",
		},
		"Restore recreates a removed thing": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{items(holding(m.item(t, "Thing/a", `{"ensure":"absent"}`), resource.Restore)), {}}
			},
			said: "Thing/a Changed", there: "a=green",
		},
		"Restore does nothing if nothing was changed": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{items(holding(m.item(t, "Thing/a", `{"ensure":"present","color":"green"}`), resource.Restore)), {}}
			},
			there: "a=green",
		},
		"Restore restores the first value, not an intermediate one": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(holding(m.item(t, "Thing/a", red), resource.Restore)),
					items(holding(m.item(t, "Thing/a", blue), resource.Restore)),
					{},
				}
			},
			said: "Thing/a Changed", there: "a=green",
		},
		"Restore does not restore drift": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				keep := holding(m.item(t, "Thing/a", `{"ensure":"present","color":"green"}`), resource.Restore)
				drifted := func(m *machine) {
					m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("drift")}
				}
				return []chapter{items(keep), {byHand: drifted, items: []resource.Item{keep}}, {}}
			},
			there: "a=green",
		},
		"Restore returns to the state when the resource was added again": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				wants := items(holding(m.item(t, "Thing/a", red), resource.Restore))
				return []chapter{wants, {}, {byHand: func(m *machine) {
					m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("blue")}
				}, items: wants.items}, {}}
			},
			said: "Thing/a Changed", there: "a=blue",
		},
		"Restore does not recreate a thing that someone removed": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(holding(m.item(t, "Thing/a", red), resource.Restore)),
					{byHand: func(m *machine) { delete(m.things, "a") }},
				}
			},
			said: "Thing/a InSync",
		},
		"the latest policy applies": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Delete)), items(m.item(t, "Thing/a", red)), {}}
			},
			there: "a=red",
		},
		"a policy applies even if it changed while the resource was not scheduled": {
			chapters: func(t *testing.T, m *machine) []chapter {
				later := m.item(t, "Thing/a", red)
				later.Postponed = errBroken
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Delete)), items(later), {}}
			},
			there: "a=red",
		},
		"a policy applies even if it changed while a dependency failed": {
			chapters: func(t *testing.T, m *machine) []chapter {
				m.fail["write b"] = nil
				return []chapter{
					items(holding(m.item(t, "Thing/a", red), resource.Delete)),
					{
						byHand: func(m *machine) { m.fail["write b"] = errBroken },
						items:  []resource.Item{m.item(t, "Thing/a", red, "require:Thing/b"), m.item(t, "Thing/b", red)},
					},
					{},
				}
			},
			there: "a=red",
		},
		"a policy applies even if it changed while the resource was invalid": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(holding(m.item(t, "Thing/a", red), resource.Delete)),
					items(resource.Item{Ref: resource.Ref{Kind: "Thing", Name: "a"}, Invalid: errBroken}),
					{},
				}
			},
			there: "a=red",
		},
		"a policy applies even if it changed in a noop run": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(holding(m.item(t, "Thing/a", red), resource.Delete)),
					{items: []resource.Item{m.item(t, "Thing/a", red)}, tx: noop},
					{},
				}
			},
			there: "a=red",
		},
		"a resource that was last in noop is not deleted": {
			chapters: func(t *testing.T, m *machine) []chapter {
				only := holding(m.item(t, "Thing/a", red), resource.Delete)
				only.Noop = new(true)
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Delete)), items(only), {}}
			},
			there: "a=red",
		},
		"a claim outlives a time in noop": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				keep := holding(m.item(t, "Thing/a", red), resource.Restore)
				only := keep
				only.Noop = new(true)
				return []chapter{items(keep), items(only), items(keep), {}}
			},
			said: "Thing/a Changed", there: "a=green",
		},
		"a resource applied in a noop run is claimed": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				acts := holding(m.item(t, "Thing/a", red), resource.Restore)
				acts.Noop = new(false)
				return []chapter{{items: []resource.Item{acts}, tx: noop}, {}}
			},
			said: "Thing/a Changed", there: "a=green",
		},
		"a deletion obeys the schedule of the resource": {
			chapters: func(t *testing.T, m *machine) []chapter {
				inTheDark := scheduled(holding(m.item(t, "Thing/a", red), resource.Delete), night(t))
				return []chapter{
					{items: []resource.Item{inTheDark}, tx: clock(zoned{}, "2026-11-21 23:00:00")},
					{tx: clock(zoned{}, "2026-11-22 12:00:00")},
				}
			},
			said: "Thing/a Skipped not scheduled: next window begins 2026-11-22 22:00 UTC", there: "a=red", claims: 1,
		},
		"a scheduled deletion is postponed while another resource may manage the thing": {
			chapters: func(t *testing.T, m *machine) []chapter {
				inTheDark := scheduled(holding(m.item(t, "Thing/a", red), resource.Delete), night(t))
				return []chapter{
					{items: []resource.Item{inTheDark}, tx: clock(zoned{}, "2026-11-21 23:00:00")},
					{tx: func(tx *engine.Transaction) {
						clock(zoned{}, "2026-11-22 23:00:00")(tx)
						tx.Withheld = []resource.Withheld{{Ref: resource.Ref{Kind: "Thing", Name: "b"}}}
					}},
				}
			},
			said:  "Thing/a Skipped its resource is gone, but Thing/b may manage the same thing, which is unknown while that is withheld or invalid: correct it first",
			there: "a=red", claims: 1,
		},
		"a deletion ignores the period of the schedule": {
			chapters: func(t *testing.T, m *machine) []chapter {
				daily := night(t)
				daily.Period = schedule.Daily
				return []chapter{
					{items: []resource.Item{scheduled(holding(m.item(t, "Thing/a", red), resource.Delete), daily)}, tx: clock(zoned{}, "2026-11-21 23:00:00")},
					{tx: clock(zoned{}, "2026-11-21 23:30:00")},
				}
			},
			said: "Thing/a Changed",
		},
		"the latest schedule applies": {
			chapters: func(t *testing.T, m *machine) []chapter {
				keep := holding(m.item(t, "Thing/a", red), resource.Delete)
				return []chapter{
					{items: []resource.Item{scheduled(keep, night(t))}, tx: clock(zoned{}, "2026-11-21 23:00:00")},
					{items: []resource.Item{keep}, tx: func(tx *engine.Transaction) { clock(zoned{}, "2026-11-22 12:00:00")(tx); noop(tx) }},
					{tx: clock(zoned{}, "2026-11-22 12:00:00")},
				}
			},
			said: "Thing/a Changed",
		},
		"a resource that generates the thing takes it over": {
			chapters: func(t *testing.T, m *machine) []chapter {
				m.nested = map[string][]string{"n": {"a"}}
				return []chapter{
					items(holding(m.item(t, "Thing/a", red), resource.Delete)),
					items(m.item(t, "Nest/n", `{"ensure":"present"}`)),
				}
			},
			said: "Nest/n Changed, Thing/a InSync", there: "a=red n",
		},
		"a resource that fails to generate the thing takes it over": {
			chapters: func(t *testing.T, m *machine) []chapter {
				m.nested = map[string][]string{"n": {"a"}}
				return []chapter{
					items(holding(m.item(t, "Thing/a", blue), resource.Delete)),
					{byHand: func(m *machine) { m.fail["write a"] = errBroken }, items: []resource.Item{m.item(t, "Nest/n", `{"ensure":"present"}`)}},
				}
			},
			said:  "Thing/a Failed change of color from blue to red failed: broken, Nest/n Changed, Thing/a InSync",
			there: "a=blue n",
		},
		"one that only reports does not": {
			chapters: func(t *testing.T, m *machine) []chapter {
				m.nested = map[string][]string{"n": {"a"}}
				only := m.item(t, "Nest/n", `{"ensure":"present"}`)
				only.Noop = new(true)
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Delete)), items(only)}
			},
			said: "Nest/n Noop, Thing/a Changed",
		},
		"another resource takes the thing over": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(holding(m.item(t, "Thing/old", `{"name":"a","ensure":"present","color":"red"}`), resource.Restore)),
					items(holding(m.item(t, "Thing/new", `{"name":"a","ensure":"present","color":"blue"}`), resource.Restore)),
					{},
				}
			},
			said: "Thing/new Changed", there: "a=green",
		},
		"a resource with a new namevar releases the old thing": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(holding(m.item(t, "Thing/x", `{"name":"a","ensure":"present","color":"red"}`), resource.Delete)),
					items(holding(m.item(t, "Thing/x", `{"name":"b","ensure":"present","color":"red"}`), resource.Delete)),
				}
			},
			said: "Thing/x Changed, Thing/a Changed", there: "b=red", claims: 1,
		},
		"a withheld resource is not deleted": {
			chapters: func(t *testing.T, m *machine) []chapter {
				withheld := func(tx *engine.Transaction) {
					tx.Withheld = []resource.Withheld{{Ref: resource.Ref{Kind: "Thing", Name: "a"}}}
				}
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Delete)), {tx: withheld}}
			},
			there: "a=red", claims: 1,
		},
		"an invalid resource is not deleted": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(holding(m.item(t, "Thing/a", red), resource.Delete)),
					items(resource.Item{Ref: resource.Ref{Kind: "Thing", Name: "a"}, Invalid: errBroken}),
				}
			},
			said: "Thing/a Failed broken", there: "a=red", claims: 1,
		},
		"a deletion is postponed while another resource may manage the thing": {
			chapters: func(t *testing.T, m *machine) []chapter {
				withheld := func(tx *engine.Transaction) {
					tx.Withheld = []resource.Withheld{{Ref: resource.Ref{Kind: "Thing", Name: "b"}}}
				}
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Delete)), {tx: withheld}}
			},
			said:  "Thing/a Skipped its resource is gone, but Thing/b may manage the same thing, which is unknown while that is withheld or invalid: correct it first",
			there: "a=red", claims: 1,
		},
		"a noop run deletes nothing and keeps the claim": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Delete)), {tx: noop}}
			},
			said: "Thing/a Noop", there: "a=red", claims: 1,
		},
		"a thing that was only reported is not claimed": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				only := holding(m.item(t, "Thing/a", `{"ensure":"present","color":"green"}`), resource.Delete)
				only.Noop = new(true)
				return []chapter{items(only), {}}
			},
			there: "a=green",
		},
		"a failed deletion is retried": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(holding(m.item(t, "Thing/a", red), resource.Delete)),
					{byHand: func(m *machine) { m.fail["write a"] = errBroken }},
					{byHand: func(m *machine) { delete(m.fail, "write a") }},
				}
			},
			said: "Thing/a Changed",
		},
		"a failed deletion keeps its claim and blocks no other": {
			chapters: func(t *testing.T, m *machine) []chapter {
				m.fail["write b"] = nil
				return []chapter{
					items(holding(m.item(t, "Thing/a", red), resource.Delete), holding(m.item(t, "Thing/b", red), resource.Delete)),
					{byHand: func(m *machine) { m.fail["write b"] = errBroken }, items: []resource.Item{m.item(t, "Thing/c", red)}},
				}
			},
			said:  "Thing/c Changed, Thing/b Failed change of ensure from present to absent failed: broken, Thing/a Changed",
			there: "b=red c=red", claims: 1,
		},
		"things are deleted in the reverse of their order": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(
						holding(m.item(t, "Thing/a", red, "require:Crate/box"), resource.Delete),
						holding(m.item(t, "Crate/box", red, "require:Thing/z"), resource.Delete),
						holding(m.item(t, "Thing/z", red), resource.Delete),
					), {},
				}
			},
			said: "Thing/a Changed, Crate/box Changed, Thing/z Changed",
		},
		"automatic relations count in that": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(holding(m.item(t, "Thing/a", `{"ensure":"present","near":["z"]}`), resource.Delete), holding(m.item(t, "Thing/z", red), resource.Delete)), {},
				}
			},
			said: "Thing/a Changed, Thing/z Changed",
		},
		"new resources do not wait for deletions": {
			chapters: func(t *testing.T, m *machine) []chapter {
				return []chapter{
					items(holding(m.item(t, "Thing/z", red), resource.Delete)),
					{byHand: func(m *machine) { m.fail["write z"] = errBroken }, items: []resource.Item{m.item(t, "Thing/a", `{"ensure":"present","near":["z"]}`)}},
				}
			},
			said: "Thing/a Changed, Thing/z Failed change of ensure from present to absent failed: broken", there: "a z=red", claims: 1,
		},
		"a catalog of another owner without the thing does not delete it": {
			chapters: func(t *testing.T, m *machine) []chapter {
				anew := func(tx *engine.Transaction) { tx.OwnerUID = "another" }
				return []chapter{items(holding(m.item(t, "Thing/a", red), resource.Delete)), {tx: anew}}
			},
			there: "a=red", claims: 1,
		},
		"another owner takes over the thing with its former state": {
			start: "a",
			chapters: func(t *testing.T, m *machine) []chapter {
				anew := func(tx *engine.Transaction) { tx.OwnerUID = "another" }
				keep := holding(m.item(t, "Thing/a", red), resource.Restore)
				return []chapter{items(keep), {tx: anew}, {items: []resource.Item{keep}, tx: anew}, {tx: anew}}
			},
			said: "Thing/a Changed", there: "a=green",
		},
		"items that are not a whole catalog delete nothing": {
			chapters: func(t *testing.T, m *machine) []chapter {
				some := func(tx *engine.Transaction) { tx.OwnerUID = "" }
				return []chapter{{items: []resource.Item{holding(m.item(t, "Thing/a", red), resource.Delete)}, tx: some}, {}}
			},
			there: "a=red",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, store := newMachine(), newMemory()
			for name := range strings.FieldsSeq(s.start) {
				green(name)(m)
			}
			said := strings.Join(play(t, m, store, s.chapters(t, m)...), ", ")
			got := story{said: said, there: m.there(), claims: len(store.claims)}
			want := story{said: s.said, there: s.there, claims: s.claims}
			if got.said != want.said || got.there != want.there || got.claims != want.claims {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestClaimIsStoredBeforeTheFirstChange(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("green")}
	store.full = errors.New("no space left on device")
	said := play(t, m, store, chapter{items: []resource.Item{
		holding(m.item(t, "Thing/a", `{"ensure":"present","color":"red"}`), resource.Restore),
		m.item(t, "Thing/b", `{"ensure":"present"}`),
	}})
	want := []string{
		"Thing/a Failed change of color from green to red failed: cannot note on disk what was there before: no space left on device",
		"Thing/b Changed",
	}
	if d := cmp.Diff(want, said); d != "" || m.there() != "a=green b" {
		t.Errorf("said (-want +got):\n%s\nthere is %s", d, m.there())
	}
}

func TestUndeletableResourcesAreNotClaimed(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["a"] = redThing("a")
	typ := m.typ("Tree", []resource.Provider[thing]{plain{m, "hand"}})
	typ.Deletion = nil
	said := play(t, m, store, chapter{items: []resource.Item{
		holding(of(t, typ, "a", `{"ensure":"present","color":"red"}`), resource.Delete),
		holding(of(t, typ, "b", `{"ensure":"present","color":"red"}`), resource.Delete),
	}})
	want := []string{"Tree/a InSync", "Tree/b Failed things of kind Tree can't be removed: use deletionPolicy Orphan"}
	if d := cmp.Diff(want, said); d != "" || len(store.claims) > 0 || m.there() != "a=red" {
		t.Errorf("said (-want +got):\n%s\nclaims are %v, there is %s", d, store.claims, m.there())
	}
}

func TestClaimsContainNoSecrets(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("green"), Secret: new("hush")}
	play(t, m, store, chapter{items: []resource.Item{
		holding(m.item(t, "Thing/a", `{"ensure":"present","color":"red","secret":"psst"}`), resource.Restore),
	}})
	for _, c := range store.claims {
		text := string(c.Delete)
		for _, v := range c.Restore {
			text += string(v)
		}
		if strings.Contains(text, "hush") || strings.Contains(text, "psst") || len(c.Restore) != 1 {
			t.Errorf("a claim has %s and %d former values", text, len(c.Restore))
		}
	}
	if len(store.claims) != 1 {
		t.Errorf("there are %d claims", len(store.claims))
	}
}

func TestClaimOfCreatedResourceRecordsOnlyItsAbsence(t *testing.T) {
	m, store := newMachine(), newMemory()
	play(t, m, store,
		chapter{items: []resource.Item{holding(m.item(t, "Thing/a", `{"ensure":"present","color":"red"}`), resource.Restore)}},
		chapter{items: []resource.Item{holding(m.item(t, "Thing/a", `{"ensure":"present","color":"blue"}`), resource.Restore)}},
	)
	former := store.claims[resource.Ref{Kind: "Thing", Name: "a"}].Restore
	if len(former) != 1 || string(former["ensure"]) != `"absent"` {
		t.Errorf("kept is %s", former)
	}
}

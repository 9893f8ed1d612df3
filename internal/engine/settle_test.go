package engine_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// cards are things whose provider knows less than it will know once it has written: until then, a property in doubts seems out of
// sync. An honest one admits that.
func (m *machine) cards(doubts map[string]bool, honest bool) map[string]resource.Kind {
	typ := m.typ("Card", []resource.Provider[thing]{plain{m, "hand"}})
	typ.SideEffects = true
	for i := range typ.Properties {
		p := &typ.Properties[i]
		inSync := p.InSync
		p.InSync = func(is, want thing) bool { return !doubts[p.Name] && inSync(is, want) }
		if honest {
			p.Unknown = func(thing, thing) string {
				if doubts[p.Name] {
					return "the list is old"
				}
				return ""
			}
		}
	}
	return map[string]resource.Kind{"Card": bound.Kind(typ)}
}

// Only what is read after a write says what it changed.
func TestEventsSayWhatWasChanged(t *testing.T) {
	const quietly, aloud = `{"color":"red"}`, `{"ensure":"present","color":"red"}`
	for name, c := range map[string]struct {
		is         thing
		attributes string
		doubts     []string
		write      func(*machine)
		did, want  []string
	}{
		"what has the same value was not changed": {
			is: colored("red"), attributes: quietly, doubts: []string{"color"},
			did: []string{"write a (color)"}, want: []string{"Card/a InSync", "Thing/s InSync"},
		},
		"what has another value was changed": {
			is: colored("blue"), attributes: quietly, doubts: []string{"color"},
			did:  []string{"write a (color)", "refresh s"},
			want: []string{"Card/a Changed", "  color changed blue to red", "Thing/s Refreshed", "  refreshed by 1 event"},
		},
		"a change without effect fails": {
			is: colored("blue"), attributes: quietly, doubts: []string{"color"},
			write: func(m *machine) { m.forgets["a"] = true },
			did:   []string{"write a (color)"},
			want: []string{
				"Card/a Failed", "  the change did not take effect: color is blue, should be red",
				"Thing/s Skipped", "  skipped because of failed dependencies: Card/a",
			},
		},
		"what vanished was not changed": {
			is: colored("blue"), attributes: aloud, doubts: []string{"color"},
			write: func(m *machine) { m.forgets["a"] = true; delete(m.things, "a") },
			did:   []string{"write a (color)"},
			want: []string{
				"Card/a Failed", "  the change did not take effect: ensure is absent, should be present",
				"Thing/s Skipped", "  skipped because of failed dependencies: Card/a",
			},
		},
		"what nobody knows about ensure hides no other change": {
			is: colored("blue"), attributes: aloud, doubts: []string{"ensure"},
			write: func(m *machine) { m.things["a"] = colored("red"); m.forgets["a"] = true },
			did:   []string{"write a (ensure)", "refresh s"},
			want:  []string{"Card/a Changed", "  color changed blue to red", "Thing/s Refreshed", "  refreshed by 1 event"},
		},
	} {
		for honest, did := range map[bool][]string{false: c.did, true: c.did} {
			m, store, doubts := newMachine(), newMemory(), map[string]bool{}
			m.things["a"], m.things["s"] = c.is, redThing("s")
			for _, property := range c.doubts {
				doubts[property] = true
			}
			m.onWrite = func(string) {
				clear(doubts)
				if c.write != nil {
					c.write(m)
				}
			}
			if honest && c.doubts[0] == resource.Ensure {
				did = []string{"write a (ensure color)", "refresh s"}
			}
			report := transact(t, []resource.Item{
				m.itemOf(t, m.cards(doubts, honest), "Card/a", c.attributes, "notify:Thing/s"), m.item(t, "Thing/s", `{"color":"red"}`),
			}, storing(store))
			if diff := cmp.Diff(c.want, lines(report)); diff != "" {
				t.Errorf("%s (honest: %v): report (-want +got):\n%s", name, honest, diff)
			}
			if diff := cmp.Diff(did, m.log); diff != "" {
				t.Errorf("%s (honest: %v): done (-want +got):\n%s", name, honest, diff)
			}
			if report.Counts.OutOfSync != report.Counts.Changed+report.Counts.Failed {
				t.Errorf("%s (honest: %v): counts are %+v", name, honest, report.Counts)
			}
			if len(store.armed) > 0 && report.Counts.Failed == 0 {
				t.Errorf("%s (honest: %v): refreshes are left: %v", name, honest, store.armed)
			}
		}
	}
}

// What only a write could tell is still unknown if it does not.
func TestDoubtThatRemainsIsAFailure(t *testing.T) {
	m := newMachine()
	m.things["a"] = colored("red")
	report := transact(t, []resource.Item{m.itemOf(t, m.cards(map[string]bool{"color": true}, true), "Card/a", `{"color":"red"}`)})
	want := []string{"Card/a Failed", "  the change did not take effect: whether color is in sync is unknown: the list is old"}
	if diff := cmp.Diff(want, lines(report)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoopReportsWhatIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		is         thing
		attributes string
		doubt      string
		want       []string
	}{
		"a property": {colored("red"), `{"color":"red"}`, "color", []string{
			"Card/a Noop", "  color may change from red (noop) (unknown: the list is old)",
			"Thing/s Noop", "  may be refreshed by 1 event (noop) (unknown: comes after Card/a)",
		}},
		"ensure, besides another property that differs": {colored("blue"), `{"ensure":"present","color":"red"}`, "ensure", []string{
			"Card/a Noop", "  ensure may change from present (noop)", "  color changed blue to red (noop) (unknown: the list is old)",
			"Thing/s Noop", "  would have been refreshed by 1 event (noop) (unknown: runs its refresh)",
		}},
		"nothing": {colored("blue"), `{"ensure":"present","color":"red"}`, "", []string{
			"Card/a Noop", "  color changed blue to red (noop)", "Thing/s Noop", "  would have been refreshed by 1 event (noop) (unknown: runs its refresh)",
		}},
	} {
		m := newMachine()
		m.things["a"], m.things["s"] = c.is, redThing("s")
		kinds := m.cards(map[string]bool{c.doubt: true}, true)
		items := []resource.Item{m.itemOf(t, kinds, "Card/a", c.attributes, "notify:Thing/s"), m.item(t, "Thing/s", `{"color":"red"}`)}
		report := transact(t, items, noop)
		if diff := cmp.Diff(c.want, lines(report)); diff != "" || len(m.log) > 0 {
			t.Errorf("%s: %v (-want +got):\n%s", name, m.log, diff)
		}
	}
}

// What the claim restores is not the state that nobody has changed.
func TestClaimRestoresNothingThatWasNotChanged(t *testing.T) {
	m, store, doubts := newMachine(), newMemory(), map[string]bool{"color": true}
	m.things["a"] = colored("red")
	m.onWrite = func(string) { clear(doubts) }
	item := m.itemOf(t, m.cards(doubts, true), "Card/a", `{"color":"red"}`)
	item.Deletion = resource.Restore
	transact(t, []resource.Item{item}, storing(store), func(tx *engine.Transaction) { tx.OwnerUID = "uid" })
	for _, c := range store.claims {
		if len(c.Restore) > 0 {
			t.Errorf("the claim restores %v", c.Restore)
		}
	}
	if len(store.claims) != 1 {
		t.Errorf("the claims are %v", store.claims)
	}
}

// That a write cannot be verified is no failure of what was only observed, and the first failure stays.
func TestOnlyUnverifiedChangesFail(t *testing.T) {
	m, store := newMachine(), newMemory()
	items := func() []resource.Item {
		return []resource.Item{m.auditing(t, m.item(t, "Crate/a", `{"color":"red","secret":"x"}`), "color")}
	}
	m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("red"), Secret: new("x")}
	transact(t, items(), storing(store))
	m.things["a"] = thing{Name: "a", Ensure: new("present"), Color: new("blue"), Secret: new("y")}
	m.fail["secret a"] = errBroken
	m.onWrite = func(string) { m.fail["read a"] = errors.New("unreadable") }
	want := []string{
		"Crate/a Failed", "  audit change: previously recorded value of color red has been changed to blue",
		"  cannot verify the change: cannot read the present state: unreadable (corrective)", "  change of secret from [redacted] to [redacted] failed: broken",
	}
	if diff := cmp.Diff(want, lines(transact(t, items(), storing(store)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A change of an audited property is an event of its own.
func TestAuditedChangeThatAWriteMakesIsAnEvent(t *testing.T) {
	m, store := newMachine(), newMemory()
	doubts := map[string]bool{}
	cards := m.cards(doubts, false)
	items := func() []resource.Item {
		return []resource.Item{m.auditing(t, m.itemOf(t, cards, "Card/a", `{"ensure":"present","color":"red"}`), "color")}
	}
	m.things["a"] = colored("green")
	transact(t, items(), storing(store))
	m.things["a"], doubts["ensure"] = colored("blue"), true
	m.onWrite = func(string) { clear(doubts); m.things["a"] = colored("red"); m.forgets["a"] = true }
	m.forgets = map[string]bool{}
	want := []string{
		"Card/a Changed", "  audit change: previously recorded value of color red has been changed to blue", "  color changed blue to red (corrective)",
	}
	if diff := cmp.Diff(want, lines(transact(t, items(), storing(store)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

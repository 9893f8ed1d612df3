package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

func colored(color string) thing { return thing{Ensure: new("present"), Color: new(color)} }

// A resource that now manages another thing has the stored state of that thing, not its own.
func TestObservedValuesBelongToTheThing(t *testing.T) {
	m, store := newMachine(), newMemory()
	run := func(ref, namevar string) []string {
		item := m.item(t, ref, `{"name":"`+namevar+`","ensure":"present","color":"red"}`)
		return lines(transact(t, []resource.Item{item}, storing(store)))
	}
	check := func(what string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("first run", run("Thing/a", "x"), "Thing/a Changed", "  created")
	m.things["y"] = colored("blue")
	check("another thing", run("Thing/a", "y"), "Thing/a Changed", "  color changed blue to red")
	m.things["y"] = colored("green")
	check("drift under another name", run("Thing/b", "y"), "Thing/b Changed", "  color changed green to red (corrective)")
}

func TestPendingRefreshBelongsToTheThing(t *testing.T) {
	m, store := newMachine(), newMemory()
	for _, name := range []string{"a", "x", "y"} {
		m.things[name] = redThing(name)
	}
	m.things["a"] = colored("blue")
	m.fail["refresh x"] = errBroken
	run := func(ref, namevar string) {
		transact(t, []resource.Item{
			m.item(t, "Thing/a", red, "notify:"+ref), m.item(t, ref, `{"name":"`+namevar+`","ensure":"present"}`),
		}, storing(store))
	}
	run("Thing/s", "x")
	delete(m.fail, "refresh x")
	m.log = nil
	run("Thing/s", "y")
	if len(m.log) > 0 {
		t.Errorf("done with another thing: %v", m.log)
	}
	run("Thing/t", "x")
	if diff := cmp.Diff([]string{"refresh x"}, m.log); diff != "" || len(store.armed) != 0 {
		t.Errorf("done with the thing (-want +got):\n%s; still due: %v", diff, store.armed)
	}
}

func TestRefreshOfInvalidResourceIsPendingUntilFixed(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["x"] = redThing("x")
	run := func(attributes string) {
		transact(t, []resource.Item{m.item(t, "Thing/a", red, "notify:Thing/s"), m.item(t, "Thing/s", attributes)}, storing(store))
	}
	run(`{"name":"x","colour":"red"}`)
	if diff := cmp.Diff([]string{"write a (ensure)"}, m.log); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	run(`{"name":"x"}`)
	run(`{"name":"x"}`)
	if diff := cmp.Diff([]string{"write a (ensure)", "refresh x"}, m.log); diff != "" || len(store.armed) != 0 {
		t.Errorf("done (-want +got):\n%s; still due: %v", diff, store.armed)
	}
}

func TestUnboundResourcePreventsForgettingItsKind(t *testing.T) {
	x := resource.Ref{Kind: "Thing", Name: "x"}
	for name, c := range map[string]struct {
		item func(*machine) []resource.Item
		with func(*engine.Transaction)
	}{
		"invalid": {func(m *machine) []resource.Item { return []resource.Item{m.item(t, "Thing/a", `{"colour":"red"}`)} }, nil},
		"withheld": {nil, func(tx *engine.Transaction) {
			tx.Withheld = []resource.Withheld{{Ref: resource.Ref{Kind: "Thing", Name: "a"}}}
		}},
	} {
		m, store := newMachine(), newMemory()
		transact(t, []resource.Item{m.item(t, "Thing/a", `{"name":"x","ensure":"present"}`), m.item(t, "Crate/c", red)}, storing(store))
		var items []resource.Item
		if c.item != nil {
			items = c.item(m)
		}
		with := []func(*engine.Transaction){storing(store)}
		if c.with != nil {
			with = append(with, c.with)
		}
		transact(t, items, with...)
		if store.observed[x] == nil || store.observed[resource.Ref{Kind: "Crate", Name: "c"}] != nil {
			t.Errorf("%s: remembered are %v", name, store.observed)
		}
	}
}

func TestScheduleAndAuditBelongToTheThing(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["x"], m.things["y"] = colored("red"), colored("blue")
	run := func(namevar string) []string {
		item := m.item(t, "Thing/a", `{"name":"`+namevar+`"}`)
		item.Schedule = &schedule.Schedule{Period: schedule.Daily}
		return lines(transact(t, []resource.Item{m.auditing(t, item, "color")}, storing(store), func(tx *engine.Transaction) {
			tx.Host = zoned{}
			tx.Now = func() time.Time { return time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC) }
		}))
	}
	for _, c := range []struct{ namevar, want string }{
		{"x", "  audit change: newly-recorded value of color is red"},
		{"x", "  not scheduled: already checked in this period of its schedule (daily), due again 2026-01-06 12:00 UTC"},
		{"y", "  audit change: newly-recorded value of color is blue"},
	} {
		if got := run(c.namevar); len(got) != 2 || got[1] != c.want {
			t.Errorf("%s: got %q, want %q", c.namevar, got, c.want)
		}
	}
}

func TestDigestBelongsToTheThing(t *testing.T) {
	digest := func(ref, namevar string) string {
		m := newMachine()
		m.things["x"], m.things["y"] = thing{Secret: new("s")}, thing{Secret: new("s")}
		store := newMemory()
		transact(t, []resource.Item{m.auditing(t, m.item(t, ref, `{"name":"`+namevar+`"}`), "secret")}, storing(store))
		raw, err := json.Marshal(store.audited[resource.Ref{Kind: "Thing", Name: namevar}])
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if one := digest("Thing/a", "x"); one != digest("Thing/b", "x") || one == digest("Thing/a", "y") {
		t.Error("a digest depends on the name of the resource, or not on that of the thing")
	}
}

package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// planning makes a run a plan, which has no host to write to.
func planning(tx *engine.Transaction) { tx.Host, tx.Reader = nil, tx.Host }

func TestPlanNeverWritesEvenIfNoopIsFalse(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["s"] = redThing("s")
	m.nested = map[string][]string{"n": {"child"}}
	store.armed[resource.Ref{Kind: "Thing", Name: "s"}] = 1
	store.observed[resource.Ref{Kind: "Thing", Name: "gone"}] = map[string]string{"ensure": "present"}
	store.claims[resource.Ref{Kind: "Thing", Name: "s"}] = claim.Claim{Kind: "Thing", Namevar: "s", OwnerUID: "c", Deletion: resource.Delete}
	store.claims[resource.Ref{Kind: "Thing", Name: "idle"}] = claim.Claim{Kind: "Thing", Namevar: "idle", OwnerUID: "c"}
	items := []resource.Item{
		m.item(t, "Thing/a", red, "notify:Thing/s"), m.item(t, "Crate/b", red), m.item(t, "Thing/s", red), m.item(t, "Nest/n", red),
	}
	for i := range items {
		items[i].Noop = new(false)
		items[i].Deletion = resource.Restore
	}
	want := []string{
		"Thing/a Noop", "  created (noop)", "Crate/b Noop", "  created (noop)",
		"Thing/s Noop", "  would have been refreshed by 2 events (noop) (unknown: runs its refresh)",
		"Thing/child Noop", "  created (noop)", "Nest/n Noop", "  created (noop)",
	}
	report := transact(t, items, planning, storing(store), func(tx *engine.Transaction) { tx.OwnerUID = "c" })
	if diff := cmp.Diff(want, lines(report)); diff != "" || !report.Noop {
		t.Errorf("noop %v, report (-want +got):\n%s", report.Noop, diff)
	}
	left := len(store.observed) == 1 && len(store.armed) == 1 && len(store.claims) == 2 && store.claims[resource.Ref{Kind: "Thing", Name: "s"}].Deletion == resource.Delete
	if len(m.log) > 0 || !left || store.commits > 0 {
		t.Errorf("done %v; the store has %+v", m.log, store)
	}
}

func TestPlanDetectsDriftFromStoredState(t *testing.T) {
	m, store := newMachine(), newMemory()
	transact(t, []resource.Item{m.item(t, "Thing/a", red)}, storing(store))
	m.things["a"] = colored("blue")
	want := []string{"Thing/a Noop", "  color changed blue to red (noop) (corrective)"}
	if diff := cmp.Diff(want, lines(transact(t, []resource.Item{m.item(t, "Thing/a", red)}, planning, storing(store)))); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

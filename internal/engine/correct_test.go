package engine_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// correct corrects the drift of things, and handles what comes after their changes if follow says so.
func correct(t *testing.T, items []resource.Item, follow func(resource.Ref) bool, names []string, with ...func(*engine.Transaction)) report.Report {
	t.Helper()
	tx := engine.Transaction{Now: stoodStill, Host: struct{ host.Host }{}}
	for _, f := range with {
		f(&tx)
	}
	drifted := map[resource.Ref]bool{}
	for _, name := range names {
		drifted[resource.Ref{Kind: "Thing", Name: name}] = true
	}
	result, err := tx.Correct(t.Context(), items, drifted, follow)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func all(resource.Ref) bool { return true }

func TestCorrectionHandlesOnlyItsResourcesAndWhatComesAfterTheirChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		drift  []string
		follow func(resource.Ref) bool
		with   []func(*engine.Transaction)
		did    []string
		want   []string
	}{
		"what drifted is corrected, and what it notifies is refreshed": {
			drift: []string{"a", "other"}, follow: all,
			did: []string{"write a (color)", "refresh s"},
			want: []string{
				"Thing/a Changed", "  color changed green to red (corrective)", "Thing/s Refreshed", "  refreshed by 1 event", "Thing/after InSync",
			},
		},
		"what comes after a change is corrected too, and so on": {
			drift: []string{"a", "after", "last"}, follow: all,
			did: []string{"write a (color)", "refresh s", "write after (color)", "write last (color)"},
			want: []string{
				"Thing/a Changed", "  color changed green to red (corrective)", "Thing/s Refreshed", "  refreshed by 1 event",
				"Thing/after Changed", "  color changed green to red (corrective)", "Thing/last Changed", "  color changed green to red (corrective)",
			},
		},
		"what comes after something in sync is left": {
			drift: []string{"after", "last"}, follow: all,
			want: []string{"Thing/a InSync"},
		},
		"what must not be handled is left even after a change": {
			drift: []string{"a", "after"}, follow: func(ref resource.Ref) bool { return ref.Name == "a" },
			did:  []string{"write a (color)"},
			want: []string{"Thing/a Changed", "  color changed green to red (corrective)"},
		},
		"in noop, it only reports": {
			drift: []string{"a"}, follow: all, with: []func(*engine.Transaction){noop},
			want: []string{"Thing/a Noop", "  color changed green to red (noop) (corrective)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, store := newMachine(), newMemory()
			items := []resource.Item{
				m.item(t, "Thing/a", red, "notify:Thing/s"),
				m.item(t, "Thing/s", red),
				m.item(t, "Thing/after", red, "require:Thing/a"),
				m.item(t, "Thing/last", red, "require:Thing/after"),
				m.item(t, "Thing/other", red),
			}
			transact(t, items, storing(store))
			m.log = nil
			for _, name := range c.drift {
				m.things[name] = colored("green")
			}
			result := correct(t, items, c.follow, []string{"a"}, append(c.with, storing(store))...)
			if diff := cmp.Diff(c.want, lines(result)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.did, m.log); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
			if !result.Partial || result.Counts.Total != len(result.Resources) {
				t.Errorf("the report is not a partial one: %+v", result.Counts)
			}
		})
	}
}

func TestCorrectionInNoopNeedsNotWhatItComesAfter(t *testing.T) {
	t.Parallel()
	m, store := newMachine(), newMemory()
	items := []resource.Item{m.item(t, "Thing/a", red), m.item(t, "Thing/b", red, "require:Thing/a")}
	transact(t, items, storing(store))
	m.things["a"], m.things["b"] = colored("green"), colored("green")
	want := []string{"Thing/b Noop", "  color changed green to red (noop) (corrective)"}
	if diff := cmp.Diff(want, lines(correct(t, items, all, []string{"b"}, storing(store), noop))); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// One correction after the other has the order of its own items.
func TestCorrectionsKeepThePlanOfTheSameItems(t *testing.T) {
	t.Parallel()
	plans := &engine.PlanCache{}
	keeping := func(tx *engine.Transaction) { tx.Plans = plans }
	for _, notifies := range []string{"b", "c", "b"} {
		m, store := newMachine(), newMemory()
		for _, name := range []string{"a", "b", "c"} {
			m.things[name] = redThing(name)
		}
		items := []resource.Item{m.item(t, "Thing/b", red), m.item(t, "Thing/c", red), m.item(t, "Thing/a", red, "notify:Thing/"+notifies)}
		transact(t, items, storing(store))
		for range 2 {
			m.things["a"], m.log = green("a"), nil
			correct(t, items, all, []string{"a"}, storing(store), keeping)
			if diff := cmp.Diff([]string{"write a (color)", "refresh " + notifies}, m.log); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
		}
	}
}

func TestRefreshAfterACorrectionHappensOnce(t *testing.T) {
	t.Parallel()
	m, store := newMachine(), newMemory()
	items := []resource.Item{m.item(t, "Thing/a", red, "notify:Thing/s"), m.item(t, "Thing/s", red)}
	transact(t, items, storing(store))
	m.log, m.things["a"] = nil, colored("green")
	correct(t, items, all, []string{"a"}, storing(store))
	transact(t, items, storing(store))
	if diff := cmp.Diff([]string{"write a (color)", "refresh s"}, m.log); diff != "" || len(store.armed) > 0 {
		t.Errorf("done (-want +got):\n%s; still due: %v", diff, store.armed)
	}

	m.log, m.things["a"] = nil, colored("green")
	m.fail["refresh s"] = errBroken
	correct(t, items, all, []string{"a"}, storing(store))
	delete(m.fail, "refresh s")
	correct(t, items, all, []string{"a"}, storing(store))
	transact(t, items, storing(store))
	if diff := cmp.Diff([]string{"write a (color)", "refresh s", "refresh s"}, m.log); diff != "" || len(store.armed) > 0 {
		t.Errorf("a failed refresh (-want +got):\n%s; still due: %v", diff, store.armed)
	}
}

func TestCorrectionRemovesAndForgetsNothing(t *testing.T) {
	t.Parallel()
	m, store := newMachine(), newMemory()
	owned := func(tx *engine.Transaction) { tx.OwnerUID, tx.Kinds = "1", slices.Collect(maps.Values(m.kinds())) }
	item := func(name string) resource.Item {
		i := m.item(t, "Thing/"+name, red)
		i.Deletion = resource.Delete
		return i
	}
	transact(t, []resource.Item{item("a"), item("gone")}, storing(store), owned)
	observed, claims := maps.Clone(store.observed), maps.Clone(store.claims)
	m.log, m.things["a"] = nil, colored("green")
	correct(t, []resource.Item{item("a")}, all, []string{"a"}, storing(store), owned)
	if diff := cmp.Diff([]string{"write a (color)"}, m.log); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(observed, store.observed); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(claims, store.claims); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	transact(t, []resource.Item{item("a")}, storing(store), owned)
	if _, left := m.things["gone"]; left || len(store.claims) != 1 {
		t.Error("the whole run did not remove it either")
	}
}

// Before each resource has its turn, the run may correct drift, and does not rely on what it read before that.
func TestDriftIsCorrectedBetweenTwoResources(t *testing.T) {
	t.Parallel()
	m, store := newMachine(), newMemory()
	items := []resource.Item{
		m.item(t, "Thing/a", red), m.item(t, "Crate/x", red), m.item(t, "Crate/y", red), m.item(t, "Thing/after", red, "require:Crate/y"),
		m.item(t, "Thing/new", red), m.item(t, "Thing/after-new", red, "require:Thing/new"),
	}
	known := slices.DeleteFunc(slices.Clone(items), func(i resource.Item) bool { return i.Ref.Name == "new" || i.Ref.Name == "after-new" })
	transact(t, known, storing(store))
	m.log = nil
	ref := resource.Ref{Kind: "Crate", Name: "y"}
	var corrections []report.Report
	result := transact(t, items, storing(store), func(tx *engine.Transaction) {
		tx.Yield = func(ctx context.Context, done <-chan struct{}, c engine.Corrector) {
			if done != nil || m.listed != 2 || len(corrections) > 0 { // once after the crates were read together
				return
			}
			want := map[resource.Ref]bool{{Kind: "Thing", Name: "a"}: true, {Kind: "Thing", Name: "after"}: true, {Kind: "Crate", Name: "x"}: true, ref: true}
			if diff := cmp.Diff(want, c.Correctable("Thing", "Crate")); diff != "" {
				t.Errorf("can be managed (-want +got):\n%s", diff)
			}
			for range 2 { // the second time, the run has read and written it itself
				m.things["y"] = colored("green")
				rep, err := c.Correct(ctx, map[resource.Ref]bool{ref: true})
				if err != nil {
					t.Error(err)
				}
				corrections = append(corrections, rep)
			}
		}
	})
	for _, c := range corrections {
		if diff := cmp.Diff([]string{"Crate/y Changed", "  color changed green to red (corrective)"}, lines(c)); diff != "" {
			t.Errorf("correction (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"write y (color)", "write y (color)", "write new (ensure)", "write after-new (ensure)"}, m.log); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	want := []string{
		"Thing/a InSync", "Crate/x InSync", "Crate/y InSync", "Thing/after InSync", "Thing/new Changed", "  created", "Thing/after-new Changed", "  created",
	}
	if diff := cmp.Diff(want, lines(result)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

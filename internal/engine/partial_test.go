package engine_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// only makes a run a partial one.
func only(names ...string) func(*engine.Transaction) {
	return func(tx *engine.Transaction) {
		tx.Only = map[resource.Ref]bool{}
		for _, name := range names {
			tx.Only[resource.Ref{Kind: "Thing", Name: name}] = true
		}
	}
}

// handled are the lines of the resources that a partial run has not left.
func handled(r report.Report) []string {
	r.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(res report.ResourceReport) bool { return res.Left })
	return lines(r)
}

func TestPartialRunHandlesOnlyItsResourcesAndWhatComesAfterTheirChanges(t *testing.T) {
	given := func(t *testing.T) (*world, *memory, []resource.Item, engine.Reach) {
		var reach engine.Reach
		w, store := newWorld(), newMemory()
		items := []resource.Item{
			w.item(t, "Thing/a", red, "notify:Thing/s"),
			w.item(t, "Thing/s", red),
			w.item(t, "Thing/after", red, "require:Thing/a"),
			w.item(t, "Thing/last", red, "require:Thing/after"),
			w.item(t, "Thing/other", red),
		}
		transact(t, items, storing(store), func(tx *engine.Transaction) { tx.Reach = func(r engine.Reach) { reach = r } })
		w.log = nil
		return w, store, items, reach
	}
	for name, c := range map[string]struct {
		drift []string
		with  func(*engine.Transaction)
		did   []string
		want  []string
	}{
		"what drifted is corrected, and what it notifies is refreshed": {
			drift: []string{"a", "other"},
			did:   []string{"write a (color)", "refresh s"},
			want: []string{
				"Thing/a Changed", "  color changed green to red (corrective)", "Thing/s Refreshed", "  refreshed by 1 event", "Thing/after InSync",
			},
		},
		"what comes after a change is corrected too, and so on": {
			drift: []string{"a", "after", "last"},
			did:   []string{"write a (color)", "refresh s", "write after (color)", "write last (color)"},
			want: []string{
				"Thing/a Changed", "  color changed green to red (corrective)", "Thing/s Refreshed", "  refreshed by 1 event",
				"Thing/after Changed", "  color changed green to red (corrective)", "Thing/last Changed", "  color changed green to red (corrective)",
			},
		},
		"what comes after something in sync is left": {
			drift: []string{"after", "last"},
			want:  []string{"Thing/a InSync"},
		},
		"what is not selected is left even after a change": {
			drift: []string{"a", "after"},
			with:  func(tx *engine.Transaction) { tx.Selected = func(i resource.Item) bool { return i.Ref.Name == "a" } },
			did:   []string{"write a (color)"},
			want:  []string{"Thing/a Changed", "  color changed green to red (corrective)"},
		},
		"a whole run in noop only reports": {
			drift: []string{"a"},
			with:  noop,
			want:  []string{"Thing/a Noop", "  color changed green to red (noop) (corrective)"},
		},
	} {
		check := func(t *testing.T, alone bool) {
			t.Helper()
			w, store, items, reach := given(t)
			for _, name := range c.drift {
				w.things[name] = colored("green")
			}
			with := []func(*engine.Transaction){storing(store), only("a")}
			if c.with != nil {
				with = append(with, c.with)
			}
			if alone {
				withoutOthers(t, items, reach, with)
			}
			result := transact(t, items, with...)
			if diff := cmp.Diff(c.want, handled(result)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.did, w.log); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
			if total := len(handled(report.Report{Resources: result.Resources})); !result.Partial || result.Counts.Total > total || len(result.Resources) != len(items) {
				t.Errorf("the report is not a partial one: %+v", result.Counts)
			}
		}
		t.Run(name, func(t *testing.T) { t.Parallel(); check(t, false) })
		t.Run(name+", without the others", func(t *testing.T) { t.Parallel(); check(t, true) })
	}
}

// withoutOthers takes from the items what a partial run cannot need.
func withoutOthers(t *testing.T, items []resource.Item, reach engine.Reach, with []func(*engine.Transaction)) {
	t.Helper()
	var tx engine.Transaction
	for _, set := range with {
		set(&tx)
	}
	selected := map[resource.Ref]bool{}
	for _, i := range items {
		selected[i.Ref] = tx.Selected == nil || tx.Selected(i)
	}
	handled, wide := reach.Of(tx.Only, selected)
	if wide || len(handled) == len(items) {
		t.Errorf("it may handle all: %v", handled)
	}
	for i := range items {
		if !handled[items[i].Ref] {
			items[i].Resource = nil
		}
	}
}

func TestRefreshAfterAPartialRunHappensOnce(t *testing.T) {
	t.Parallel()
	w, store := newWorld(), newMemory()
	items := func() []resource.Item {
		return []resource.Item{w.item(t, "Thing/a", red, "notify:Thing/s"), w.item(t, "Thing/s", red)}
	}
	transact(t, items(), storing(store))
	w.log, w.things["a"] = nil, colored("green")
	transact(t, items(), storing(store), only("a"))
	transact(t, items(), storing(store))
	if diff := cmp.Diff([]string{"write a (color)", "refresh s"}, w.log); diff != "" || len(store.armed) > 0 {
		t.Errorf("done (-want +got):\n%s; still due: %v", diff, store.armed)
	}

	w.log, w.things["a"] = nil, colored("green")
	w.fail["refresh s"] = errBroken
	transact(t, items(), storing(store), only("a"))
	delete(w.fail, "refresh s")
	transact(t, items(), storing(store), only("a"))
	transact(t, items(), storing(store))
	if diff := cmp.Diff([]string{"write a (color)", "refresh s", "refresh s"}, w.log); diff != "" || len(store.armed) > 0 {
		t.Errorf("a failed refresh (-want +got):\n%s; still due: %v", diff, store.armed)
	}
}

func TestPartialRunRemovesAndForgetsNothing(t *testing.T) {
	t.Parallel()
	w, store := newWorld(), newMemory()
	owned := func(tx *engine.Transaction) { tx.OwnerUID, tx.Kinds = "1", slices.Collect(maps.Values(w.kinds())) }
	item := func(name string) resource.Item {
		i := w.item(t, "Thing/"+name, red)
		i.Deletion = resource.Delete
		return i
	}
	transact(t, []resource.Item{item("a"), item("gone")}, storing(store), owned)
	observed, claims := maps.Clone(store.observed), maps.Clone(store.claims)
	w.log, w.things["a"] = nil, colored("green")
	transact(t, []resource.Item{item("a")}, storing(store), owned, only("a"))
	if diff := cmp.Diff([]string{"write a (color)"}, w.log); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(observed, store.observed); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(claims, store.claims); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	transact(t, []resource.Item{item("a")}, storing(store), owned)
	if _, left := w.things["gone"]; left || len(store.claims) != 1 {
		t.Error("the whole run did not remove it either")
	}
}

// Before each resource has its turn, the run may manage what is urgent, and does not rely on what it read before that.
func TestUrgentResourcesAreManagedBetweenTwoOthers(t *testing.T) {
	t.Parallel()
	w, store := newWorld(), newMemory()
	items := []resource.Item{
		w.item(t, "Thing/a", red), w.item(t, "Crate/x", red), w.item(t, "Crate/y", red), w.item(t, "Thing/after", red, "require:Crate/y"),
		w.item(t, "Thing/new", red), w.item(t, "Thing/after-new", red, "require:Thing/new"),
	}
	known := slices.DeleteFunc(slices.Clone(items), func(i resource.Item) bool { return i.Ref.Name == "new" || i.Ref.Name == "after-new" })
	transact(t, known, storing(store))
	w.log = nil
	ref := resource.Ref{Kind: "Crate", Name: "y"}
	var asides []report.Report
	result := transact(t, items, storing(store), func(tx *engine.Transaction) {
		tx.Idle = func(ctx context.Context, done <-chan struct{}, aside engine.Aside) {
			if done != nil || w.listed != 2 || len(asides) > 0 { // once after the crates were read together
				return
			}
			want := map[resource.Ref]bool{{Kind: "Thing", Name: "a"}: true, {Kind: "Thing", Name: "after"}: true, {Kind: "Crate", Name: "x"}: true, ref: true}
			if diff := cmp.Diff(want, aside.Resources("Thing", "Crate")); diff != "" {
				t.Errorf("can be managed (-want +got):\n%s", diff)
			}
			w.things["y"] = colored("green")
			rep, err := aside.Run(ctx, map[resource.Ref]bool{ref: true})
			if err != nil {
				t.Error(err)
			}
			asides = append(asides, rep)
		}
	})
	if len(asides) != 1 {
		t.Fatal("there was no aside")
	}
	if diff := cmp.Diff([]string{"Crate/y Changed", "  color changed green to red (corrective)"}, handled(asides[0])); diff != "" {
		t.Errorf("aside (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"write y (color)", "write new (ensure)", "write after-new (ensure)"}, w.log); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	want := []string{
		"Thing/a InSync", "Crate/x InSync", "Crate/y InSync", "Thing/after InSync", "Thing/new Changed", "  created", "Thing/after-new Changed", "  created",
	}
	if diff := cmp.Diff(want, lines(result)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// of returns an item of a type that the test defines.
func of(t *testing.T, typ *resource.Type[thing], name, attributes string) resource.Item {
	t.Helper()
	ref := resource.Ref{Kind: typ.Name, Name: name}
	r, err := bound.Kind(typ).Bind(ref, json.RawMessage(attributes))
	if err != nil {
		t.Fatal(err)
	}
	return resource.Item{Ref: ref, Resource: r}
}

func TestFailedPreRunCheckPreventsTheRun(t *testing.T) {
	w := newWorld()
	typ := w.typ("Tree", []resource.Provider[thing]{plain{w, "hand"}})
	typ.PreRunCheck = func(_ context.Context, h resource.Reader, want thing) error {
		if _, writable := h.(host.Host); writable {
			t.Error("a check was given a host that it can change")
		}
		if want.Color != nil && *want.Color == "blue" {
			return errors.New("no tree is blue")
		}
		return nil
	}
	items := []resource.Item{
		w.item(t, "Thing/a", red), of(t, typ, "oak", red), of(t, typ, "elm", `{"color":"blue"}`), of(t, typ, "fir", `{"color":"blue"}`),
		w.item(t, "Thing/z", red, "require:Tree/fir"),
	}
	report := transact(t, items)
	want := []string{
		"Thing/a Skipped", "  the run was stopped before its turn: some checks before the run failed: Tree/elm, Tree/fir",
		"Tree/oak Skipped", "  the run was stopped before its turn: some checks before the run failed: Tree/elm, Tree/fir",
		"Tree/elm Failed", "  its check before the run failed: no tree is blue",
		"Tree/fir Failed", "  its check before the run failed: no tree is blue",
		"Thing/z Skipped", "  skipped because of failed dependencies: Tree/fir",
	}
	if diff := cmp.Diff(want, lines(report)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if message := "the run was stopped before its end: some checks before the run failed: Tree/elm, Tree/fir"; report.Status != "failed" || report.Message != message {
		t.Errorf("the run %s: %s", report.Status, report.Message)
	}
	if len(w.log) > 0 {
		t.Errorf("something was done: %q", w.log)
	}
	// What is not selected has no say.
	report = transact(t, items[:3], func(tx *engine.Transaction) {
		tx.Selected = func(i resource.Item) bool { return i.Ref.Name != "elm" }
	})
	if report.Counts.Changed != 2 {
		t.Errorf("without elm: %+v", report.Counts)
	}
	// What comes after it in the catalog has.
	report = transact(t, items, func(tx *engine.Transaction) {
		tx.Selected = func(i resource.Item) bool { return i.Ref.Name != "a" }
	})
	if report.Counts.Failed != 2 {
		t.Errorf("without a: %+v", report.Counts)
	}
}

func TestSelfRefreshAfterChange(t *testing.T) {
	for name, test := range map[string]struct {
		given      func(*world)
		attributes string
		with       []func(*engine.Transaction)
		did, want  []string
		due        int
	}{
		"that was made": {
			attributes: red, did: []string{"write a (ensure)", "refresh a"},
			want: []string{"Mount/a Changed", "  created", "  refreshed by 1 event"},
		},
		"once for all of its properties": {
			given: redA, attributes: `{"color":"blue","secret":"x"}`, did: []string{"write a (color secret)", "refresh a"},
			want: []string{"Mount/a Changed", "  color changed red to blue", "  changed secret", "  refreshed by 2 events"},
		},
		"and not when it is in sync": {given: redA, attributes: red, want: []string{"Mount/a InSync"}},
		"nor when it was removed": {
			given: redA, attributes: `{"ensure":"absent"}`, did: []string{"write a (ensure)"}, want: []string{"Mount/a Changed", "  removed"},
		},
		"nor when that needs no refresh": {
			attributes: `{"ensure":"running"}`, did: []string{"write a (ensure)"}, want: []string{"Mount/a Changed", "  created"},
		},
		"only for show in noop": {
			attributes: red, with: []func(*engine.Transaction){noop},
			want: []string{"Mount/a Noop", "  created (noop)", "  would have been refreshed by 1 event (noop)"},
		},
		"later when a part of the change failed": {
			given: func(w *world) { redA(w); w.fail["color a"] = errBroken }, attributes: `{"color":"blue","secret":"x"}`,
			did: []string{"write a (color secret)"}, due: 1,
			want: []string{"Mount/a Failed", "  change of color from red to blue failed: broken", "  changed secret"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, store := newWorld(), newMemory()
			if test.given != nil {
				test.given(w)
			}
			typ := w.typ("Mount", []resource.Provider[thing]{plain{w, "hand"}})
			typ.SelfRefresh = true
			report := transact(t, []resource.Item{of(t, typ, "a", test.attributes)}, append(test.with, storing(store))...)
			if diff := cmp.Diff(test.want, lines(report)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.did, w.log); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
			if len(store.armed) != test.due {
				t.Errorf("due are %v", store.armed)
			}
		})
	}
}

func redA(w *world) { w.things["a"] = redThing("a") }
